//! Where a conversion reads from and writes to: patterns, folders, standard input and output.

use super::super::Stop;
use super::request::Request;
use gander::convert::batch::files_below;
use gander::data::content::Kind;
use gander::data::format::Sink;
use gander::{Error, Task};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The bytes that go to a pipe at once.
const BUFFER: usize = 1 << 20;

/// A source.
pub(super) struct Input {
    /// `PATH[#NODE]`.
    pub(super) target: String,
    /// The folders between the one that was named and this file.
    pub(super) below: PathBuf,
    /// What it is called where its path does not say it.
    pub(super) name: Option<String>,
    /// Removes what standard input was kept in.
    _kept: Option<Kept>,
}

impl Input {
    fn new(target: String, below: PathBuf) -> Self {
        Input { target, below, name: None, _kept: None }
    }
}

/// The sources with what patterns stand for; where each becomes a file, folders of anything with the files in them.
///
/// # Errors
/// A pattern that fits nothing; what cannot be listed.
pub(super) fn expanded(task: &Task, request: &Request) -> Result<Vec<Input>, Stop> {
    let mut inputs = Vec::new();
    for source in &request.sources {
        if source == "-" {
            inputs.push(standard_input(task, request)?);
            continue;
        }
        let is_pattern = source.contains(['*', '?', '[']) && !super::super::split_target(source).0.exists();
        let found = if is_pattern { matching(source)? } else { vec![source.clone()] };
        for target in found {
            match request.is_folder && request.query.is_none() && is_plain_folder(task, &target, request) {
                true => {
                    let files = files_below(Path::new(&target))?;
                    inputs.extend(
                        files
                            .into_iter()
                            .map(|(file, below)| Input::new(file.to_string_lossy().into_owned(), below)),
                    );
                }
                false => inputs.push(Input::new(target, PathBuf::new())),
            }
        }
    }
    match inputs.is_empty() {
        true => Err(Error::io("there are no files in it").into()),
        false => Ok(inputs),
    }
}

/// What a pattern stands for, in order of names.
fn matching(pattern: &str) -> Result<Vec<String>, Stop> {
    let (pattern, node) = match pattern.rsplit_once('#') {
        Some((pattern, node)) => (pattern, format!("#{node}")),
        None => (pattern, String::new()),
    };
    let found = glob::glob(pattern).map_err(|error| Stop::Usage(format!("{pattern}: {error}")))?;
    let paths: Vec<String> =
        found.flatten().map(|path| format!("{}{node}", path.to_string_lossy())).collect();
    match paths.is_empty() {
        true => Err(Error::io("no file fits this pattern").in_file(pattern).into()),
        false => Ok(paths),
    }
}

/// Whether it is a folder of files that are not one thing together.
fn is_plain_folder(task: &Task, target: &str, request: &Request) -> bool {
    if !Path::new(target).is_dir() {
        return false;
    }
    let options = request.opening.options().unwrap_or_default();
    gander::open(task, Path::new(target), &options).is_ok_and(|document| document.format.id == "folder")
}

/// Standard input in a file of its own, since most formats are read from several places.
fn standard_input(task: &Task, request: &Request) -> Result<Input, Stop> {
    // Text that nobody gave a name is a table where one is wanted.
    let takes_bytes = request.target.writer.accepts.contains(&Kind::Bytes);
    let name = if takes_bytes { "stdin" } else { "stdin.csv" };
    let folder = std::env::temp_dir().join(format!(".gander-stdin-{}", std::process::id()));
    let kept = Kept(folder.clone());
    let spool = || -> Result<PathBuf, Error> {
        std::fs::create_dir(&folder)?;
        let path = folder.join(name);
        let mut file = std::fs::File::create_new(&path)?;
        let mut input = std::io::stdin().lock();
        let mut buffer = vec![0; BUFFER];
        loop {
            task.check()?;
            let len = match input.read(&mut buffer) {
                Ok(0) => return Ok(path),
                Ok(len) => len,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            file.write_all(buffer.get(..len).unwrap_or_default())?;
        }
    };
    let path = spool().map_err(|error| error.in_file("standard input"))?;
    let target = path.to_string_lossy().into_owned();
    Ok(Input { target, below: PathBuf::new(), name: Some("stdin".to_owned()), _kept: Some(kept) })
}

/// A folder that goes when nobody needs it any more.
struct Kept(PathBuf);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A sink that only goes forward.
pub(super) struct Pipe<W: Write> {
    out: BufWriter<W>,
    at: u64,
    closed: bool,
}

impl<W: Write> Pipe<W> {
    pub(super) fn new(out: W) -> Self {
        Pipe { out: BufWriter::with_capacity(BUFFER, out), at: 0, closed: false }
    }

    /// Whether the other end went away.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    fn noted<T>(&mut self, result: std::io::Result<T>) -> std::io::Result<T> {
        self.closed |= matches!(&result, Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe);
        result
    }
}

impl<W: Write> Write for Pipe<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes);
        let len = self.noted(written)?;
        self.at += len as u64;
        Ok(len)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let flushed = self.out.flush();
        self.noted(flushed)
    }
}

impl<W: Write> Seek for Pipe<W> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        match to {
            SeekFrom::Current(0) | SeekFrom::End(0) => Ok(self.at),
            SeekFrom::Start(at) if at == self.at => Ok(at),
            _ => Err(std::io::Error::other("a pipe does not go back")),
        }
    }
}

impl<W: Write + Send> Sink for Pipe<W> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_only_goes_forward() {
        let mut out = Vec::new();
        let mut pipe = Pipe::new(&mut out);
        pipe.write_all(b"abc").unwrap();
        assert_eq!(pipe.stream_position().unwrap(), 3);
        assert!(pipe.seek(SeekFrom::Start(0)).is_err());
        pipe.flush().unwrap();
        drop(pipe);
        assert_eq!(out, b"abc");
    }
}
