//! xz files whose data went through several filters.

use super::{Codec, Failure, Feed};
use crate::bytes::codec::lzma::{chained, refused};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::{Reader, Source};
use crate::bytes::task::Task;
use lzma_rust2::XzReader;
use std::io::{ErrorKind, Read};

/// Decodes all streams of an xz file whose data went through several filters: the decoder that takes what it is
/// given knows only one before LZMA2, the one that reads by itself knows all.
pub struct Chained {
    source: Source,
    reader: Option<XzReader<Reader>>,
    /// Bytes that were handed out.
    made: u64,
}

impl Chained {
    /// A decoder of all of `source`, whatever the feed has.
    pub fn new(source: Source) -> Self {
        Chained { source, reader: None, made: 0 }
    }

    /// Reads on, from the start where an earlier read was stopped, over what was handed out already.
    fn read(&mut self, task: &Task, out: &mut [u8]) -> std::io::Result<usize> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => {
                let mut reader = chained(self.source.reader(task));
                let mut left = self.made;
                while left > 0 {
                    task.check()?;
                    let most = out.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    let skipped = reader.read(out.get_mut(..most).unwrap_or_default())?;
                    if skipped == 0 {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                    left -= skipped as u64;
                }
                none.insert(reader)
            }
        };
        reader.read(out)
    }
}

impl Codec for Chained {
    fn decode(&mut self, task: &Task, feed: &mut Feed, out: &mut [u8]) -> Result<usize, Failure> {
        loop {
            task.check()?;
            match self.read(task, out) {
                Ok(made) => {
                    self.made += made as u64;
                    if let Some(reader) = &self.reader {
                        feed.skip(reader.inner().position().saturating_sub(feed.at()));
                    }
                    return Ok(made);
                }
                Err(error) => {
                    let place = self.reader.take().map_or(0, |reader| reader.inner().position());
                    match error.downcast::<Error>() {
                        // The reader may still have the task of an earlier call, which is over.
                        Ok(ours) if ours.is_cancelled() => task.check()?,
                        Ok(ours) => return Err(Failure::Read(ours)),
                        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                            let what =
                                "xz stream: it ends in the middle of its data; the file may be cut off";
                            return Err(Failure::Cut(Error::malformed(what).at(place)));
                        }
                        Err(error) => {
                            return Err(Failure::Damaged(refused(&error).of("xz stream").at(place)));
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::codec::lzma::filters;
    use crate::bytes::codec::lzma::known::tests::{packed, program};
    use lzma_rust2::filter::FilterConfig;

    fn unpacked(source: &Source) -> Result<Vec<u8>> {
        let (task, mut out) = (Task::new(), Vec::new());
        let mut codec = Chained::new(source.clone());
        let mut feed = Feed::new(source.clone(), 0..u64::MAX);
        let mut buffer = vec![0; 10_000];
        loop {
            match codec.decode(&task, &mut feed, &mut buffer)? {
                0 => return Ok(out),
                made => out.extend_from_slice(&buffer[..made]),
            }
            if out.len() == 30_000 {
                // A stopped reader begins again where it was.
                codec.reader = None;
            }
        }
    }

    #[test]
    fn chains_of_filters() {
        let data = program();
        let chains = [
            vec![],
            vec![FilterConfig::new_delta(4)],
            vec![FilterConfig::new_delta(256), FilterConfig::new_bcj_x86(0)],
            vec![FilterConfig::new_bcj_arm64(4_096), FilterConfig::new_delta(1)],
            vec![FilterConfig::new_delta(1), FilterConfig::new_delta(2), FilterConfig::new_bcj_ppc(0)],
        ];
        for chain in chains {
            let count = chain.len();
            let file = packed(&data, chain);
            assert_eq!(filters(&file).unwrap(), count);
            assert_eq!(unpacked(&Source::memory("x", file.clone())).unwrap(), data, "{count} filters");
            let cut = unpacked(&Source::memory("x", file[..file.len() - 40].to_vec()));
            assert_eq!(cut.unwrap_err().kind(), crate::bytes::error::ErrorKind::Malformed, "{count} filters");
        }
    }
}
