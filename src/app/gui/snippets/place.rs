//! Where Python finds the file that holds a node: on the disk, or in archives and compressed files, out of which
//! it is brought first.

use std::collections::VecDeque;

use gander::data::node::Node;
use gander::data::sniff::has_extension;
use gander::formats::FORMATS;

use super::quoted;

/// Formats of archives, and of what may hold one.
const ARCHIVES: [&str; 6] = ["zip", "tar", "gzip", "bzip2", "xz", "zstd"];
/// How many archives and compressed files may lie in each other.
const NESTED: usize = 8;

/// The file that holds a node.
pub(super) struct File {
    /// Lines that bring it to where Python can open it.
    pub(super) before: Vec<String>,
    /// What Python opens: a path in quotes, or the variable `file`.
    pub(super) python: String,
    /// Its path, while it lies on the disk.
    pub(super) path: Option<String>,
    /// Its name, without the ending of what compressed it.
    pub(super) name: String,
    pub(super) format: &'static str,
    /// The path of the node in it.
    pub(super) inner: String,
    /// The formats that were recognised on the way, the next one first.
    known: VecDeque<&'static str>,
}

impl File {
    /// The file that holds the node at `inner` of an open file or folder, whose root is `root`.
    pub(super) fn holding(path: &str, format: &'static str, root: &Node, inner: &str, node: &Node) -> File {
        let mut known: VecDeque<&'static str> = formats_of(root).collect();
        if !inner.is_empty() {
            known.extend(formats_of(node));
        }
        let mut file = File {
            before: Vec::new(),
            python: quoted(path),
            path: Some(path.to_owned()),
            name: last_part(path).to_owned(),
            format,
            inner: inner.to_owned(),
            known,
        };
        for _ in 0..NESTED {
            if !file.step(node) {
                break;
            }
        }
        file
    }

    /// Goes into what is only a wrapper; false where this is the file itself.
    fn step(&mut self, node: &Node) -> bool {
        let part = matches!(node.label, "tensor" | "module");
        match self.format {
            "gzip" | "zstd" | "bzip2" | "xz" | "lz4" | "zlib" => self.unpack(),
            "zip" | "tar" if !self.inner.is_empty() && !is_folder(node) => self.extract(node),
            "safetensors_sharded" | "gguf_split" if part => false,
            "folder" | "dataset" | "safetensors_sharded" | "gguf_split" if !self.inner.is_empty() => {
                self.enter(node)
            }
            _ => false,
        }
    }

    /// Decompresses it, unless what reads it does that itself.
    fn unpack(&mut self) -> bool {
        let (wrapper, name) = (self.format, inner_name(&self.name));
        self.format = self.known.pop_front().or_else(|| by_name(&name)).unwrap_or("bytes");
        let by_itself = match self.format {
            "csv" | "jsonl" => has_extension(&self.name, &["gz", "bz2", "xz", "zst"]),
            "nifti" | "mgh" | "fits" => wrapper == "gzip",
            "tar" => matches!(wrapper, "gzip" | "bzip2" | "xz"),
            _ => false,
        };
        if !by_itself {
            let python = &self.python;
            let (imports, opened) = match wrapper {
                "gzip" => ("import gzip", format!("gzip.open({python})")),
                "bzip2" => ("import bz2", format!("bz2.open({python})")),
                "xz" => ("import lzma", format!("lzma.open({python})")),
                "zstd" => ("import zstandard", format!("zstandard.open({python}, \"rb\")")),
                "lz4" => ("import lz4.frame", format!("lz4.frame.open({python})")),
                _ => (
                    "import io\nimport zlib",
                    format!("io.BytesIO(zlib.decompress(open({python}, \"rb\").read()))"),
                ),
            };
            let ending = name.rfind('.').map_or("", |dot| &name[dot..]);
            self.before.push(format!(
                "{imports}\nimport shutil\nimport tempfile\nwith {opened} as packed, tempfile.NamedTemporaryFile(suffix={}, delete=False) as unpacked:\n    shutil.copyfileobj(packed, unpacked)\nfile = unpacked.name",
                quoted(ending)
            ));
            (self.python, self.path) = ("file".to_owned(), None);
        }
        self.name = name;
        true
    }

    /// Takes a member out of an archive.
    fn extract(&mut self, node: &Node) -> bool {
        let member = self.go_in(node);
        let (python, name) = (&self.python, quoted(&member));
        self.before.push(match self.format {
            "zip" => format!(
                "import tempfile\nimport zipfile\nfile = zipfile.ZipFile({python}).extract({name}, tempfile.mkdtemp())"
            ),
            // The names of members may begin with "./".
            _ => format!(
                "import os\nimport tarfile\nimport tempfile\nfolder = tempfile.mkdtemp()\nwith tarfile.open({python}) as archive:\n    member = next(m for m in archive if os.path.normpath(m.name) == {name})\n    archive.extract(member, folder)\nfile = os.path.join(folder, member.name)"
            ),
        });
        (self.python, self.path) = ("file".to_owned(), None);
        self.become_member(&member, node);
        true
    }

    /// Goes to a file in a folder.
    fn enter(&mut self, node: &Node) -> bool {
        let Some(folder) = self.path.clone() else { return false };
        let member = self.go_in(node);
        let path = format!("{}/{member}", folder.trim_end_matches('/'));
        (self.python, self.path) = (quoted(&path), Some(path));
        self.become_member(&member, node);
        true
    }

    fn become_member(&mut self, member: &str, node: &Node) {
        self.name = last_part(member).to_owned();
        self.format = match self.inner.is_empty() && is_folder(node) {
            true => "folder",
            false => self.known.pop_front().or_else(|| by_name(&self.name)).unwrap_or("bytes"),
        };
    }

    /// Cuts the path behind the file in this archive or folder that holds the node; the path of that file.
    fn go_in(&mut self, node: &Node) -> String {
        let path = self.inner.trim_start_matches('/').to_owned();
        // Where the node is a file itself, only archives hold it; else the first file on the way does.
        let is_file = formats_of(node).next().is_some();
        let holds = |at: &usize| {
            let format = by_name(last_part(&path[..*at]));
            format.is_some_and(|format| !is_file || ARCHIVES.contains(&format))
        };
        let at = path.match_indices('/').map(|(at, _)| at).find(holds).unwrap_or(path.len());
        self.inner = path[at..].to_owned();
        path[..at].to_owned()
    }
}

/// Whether a node is a folder that is shown as its files.
fn is_folder(node: &Node) -> bool {
    node.label == "folder" && node.content.is_none() && formats_of(node).next().is_none()
}

/// The formats that were recognised on the way into a node, the outermost first.
fn formats_of(node: &Node) -> impl Iterator<Item = &'static str> + '_ {
    node.formats.iter().map(|format| format.id)
}

/// The format that a name promises.
pub(super) fn by_name(name: &str) -> Option<&'static str> {
    // Some stores of arrays are archives too; most archives are none.
    if has_extension(name, &["zip"]) && !has_extension(name, &["zarr.zip"]) {
        return Some("zip");
    }
    FORMATS.iter().find(|format| has_extension(name, format.extensions)).map(|format| format.id)
}

fn last_part(path: &str) -> &str {
    path.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or(path)
}

/// The name of what is in a compressed file.
fn inner_name(name: &str) -> String {
    const TARS: [&str; 6] = ["tgz", "tbz", "tbz2", "txz", "tzst", "tlz4"];
    match name.rsplit_once('.') {
        Some((stem, _)) if has_extension(name, &TARS) => format!("{stem}.tar"),
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name.to_owned(),
    }
}
