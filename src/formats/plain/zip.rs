//! ZIP archives as trees of their members, each opened as what it is when somebody looks into it.
//! Specification: PKWARE's APPNOTE.TXT 6.3.10; the container itself is read by [`crate::bytes::archive::zip`].

use crate::bytes::archive::zip::{Archive, Member, Method};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::data::content::Content;
use crate::data::format::{Format, Opening, Options};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::archive::{self as tree, Members};
use crate::engines::members::{ArchivePlaces, MemberPlace};

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["zip"],
    mime: &["application/zip"],
    sniff: Some(sniff),
    ..Format::new("zip", "ZIP archive", open)
};

/// An archive starts with a member or, if it has none, with the end record; programs may stand before it
/// (self-extractors), which only the name tells.
fn sniff(head: &Head) -> Match {
    if head.is_folder || head.zip().is_some_and(|zip| zip.document.is_some()) {
        return Match::No;
    }
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return Match::Yes;
    }
    // Anything may stand before an archive: programs unpack themselves, and hide in what others take for data.
    let ends = memchr::memmem::rfind_iter(&head.last, b"PK\x05\x06").filter_map(|at| head.last.get(at..));
    let (mut is_one, mut is_last) = (false, false);
    for end in ends {
        let comment = end
            .get(20..22)
            .map_or(0, |len| len.iter().rev().fold(0, |all, byte| all << 8 | usize::from(*byte)));
        is_one = true;
        is_last |= end.len() == 22 + comment && end.get(10..12).is_some_and(|count| count != [0, 0]);
    }
    match (is_last, is_one) {
        (true, _) => Match::Yes,
        (false, true) => Match::Maybe,
        (false, false) => Match::No,
    }
}

fn open(opening: &Opening) -> Result<Node> {
    let archive = Archive::open(opening.task, opening.source)?;
    let mut root = Node::new("", "file").separator("");
    root.problem.clone_from(&archive.problem);
    if !archive.comment.is_empty() {
        root = root.attribute("comment", archive.comment.clone());
    }
    let name = |member: &Member| member.name.trim_start_matches("./").to_owned();
    root = root.placed(ArchivePlaces { archive: archive.clone(), name });
    tree::attach(opening.task, root, Zip(archive, opening.options.clone()))
}

/// The members, and the options that some are opened with.
struct Zip(Archive, Options);

impl Members for Zip {
    fn count(&self) -> usize {
        self.0.members.len()
    }

    fn path(&self, index: usize) -> &str {
        self.0.members.get(index).map_or("", |member| &member.name)
    }

    fn is_folder(&self, index: usize) -> bool {
        self.0.members.get(index).is_some_and(|member| member.is_folder())
    }

    fn node(&self, index: usize, name: &str) -> Node {
        let Some(member) = self.0.members.get(index) else { return Node::new(name, "member") };
        let label = if member.is_link() { "link" } else { "member" };
        let mut node = if member.encrypted {
            Node::new(name, label)
                .problem(Error::unsupported(format!("member {:?} is encrypted", member.name)))
        } else if member.size == 0 && member.stored == 0 {
            Node::new(name, label)
                .content(Content::Bytes(Source::memory(name, &b""[..])))
                .remark("it is empty (0 bytes)")
        } else {
            let (archive, member) = (self.0.clone(), member.clone());
            let options = self.1.below(member.name.trim_start_matches("./"));
            crate::formats::ALL.nested(name, label, options, move |task| archive.read(task, &member))
        };
        node = node.placed(MemberPlace { archive: self.0.clone(), member: member.clone() });
        if member.method != Method::Stored {
            node = node.read_as("compression", member.method.name());
        }
        if let Some(modified) = member.modified() {
            node = node.read_as("modified", modified);
        }
        if !member.comment.is_empty() {
            node = node.attribute("comment", &*member.comment);
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::error::ErrorKind;
    use crate::bytes::task::Task;
    use crate::data::format::Options;
    use crate::data::open::Document;
    use std::path::Path;
    use std::sync::Arc;

    fn opened(name: &str) -> Document {
        let path = format!("{}/fixtures/zip/{name}.zip", env!("CARGO_MANIFEST_DIR"));
        crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
    }

    /// An archive with these members, stored.
    fn stored(members: &[(&str, &[u8])]) -> Vec<u8> {
        let (mut all, mut directory) = (Vec::new(), Vec::new());
        for (name, bytes) in members {
            let at = all.len() as u32;
            let mut entry = [10_u16, 0, 0, 0, 0].map(u16::to_le_bytes).concat();
            entry.extend(crc32fast::hash(bytes).to_le_bytes());
            entry.extend([bytes.len() as u32; 2].map(u32::to_le_bytes).concat());
            entry.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
            all.extend([b"PK\x03\x04", entry.as_slice(), name.as_bytes(), bytes].concat());
            directory.extend([b"PK\x01\x02\x0a\0".as_slice(), &entry, &[0; 10], &at.to_le_bytes()].concat());
            directory.extend(name.as_bytes());
        }
        let (start, count) = (all.len() as u32, members.len() as u16);
        all.extend(&directory);
        all.extend([b"PK\x05\x06\0\0\0\0".as_slice(), &[count; 2].map(u16::to_le_bytes).concat()].concat());
        all.extend([directory.len() as u32, start].map(u32::to_le_bytes).concat());
        all.extend([0, 0]);
        all
    }

    #[test]
    fn pickles_in_an_archive_are_found_wherever_it_begins() {
        let evil = b"cos\nsystem\n(S'echo quack'\ntR.";
        let inner = stored(&[("a/data", evil), ("note.txt", b"words\n")]);
        let archive = stored(&[("inner.zip", &inner), ("other.txt", b"words\n")]);
        for before in [0, 64] {
            let bytes = [vec![0; before], archive.clone()].concat();
            let source = crate::bytes::source::Source::memory("model.pt", bytes);
            let document = crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
            assert_eq!(document.format.id, "zip", "{before} bytes before it");
            let report = crate::engines::pickle::below(&Task::new(), &document.root).unwrap().unwrap();
            assert!(report.suspects.contains("os.system"), "{report:?}");
        }
        let plain = crate::bytes::source::Source::memory("x.zip", stored(&[("a", b"1"), ("b", b"2")]));
        let document = crate::formats::open_source(&Task::new(), &plain, &Options::default()).unwrap();
        assert!(crate::engines::pickle::below(&Task::new(), &document.root).unwrap().is_none());
    }

    /// Paths with their kinds or problems.
    fn paths(root: &Arc<Node>) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let mut visit = |node: &Arc<Node>, path: &str, level: usize| {
            if level > 0 {
                let what = node.problem.as_ref().map_or(node.kind().word().to_owned(), Error::message);
                all.push((path.to_owned(), what));
            }
            Ok(true)
        };
        crate::data::open::walk(&Task::new(), root, "", 8, &mut visit).unwrap();
        all
    }

    #[test]
    fn members_are_opened_as_what_they_are() {
        for name in ["stored", "deflated", "bzip2", "lzma", "prefixed"] {
            let document = opened(name);
            assert_eq!(document.format.id, "zip", "{name}");
            let found = paths(&document.root);
            let names: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
            let expected = ["data", "data/table.csv", "data/x.npy", "images", "images/dot.png", "README.txt"];
            assert_eq!(names, expected, "{name}");
            let kind = |path: &str| found.iter().find(|(p, _)| p == path).map(|(_, what)| what.as_str());
            assert_eq!(
                (kind("data/x.npy"), kind("images/dot.png")),
                (Some("array"), Some("image")),
                "{name}"
            );
        }
        assert!(paths(&opened("zip_in_zip").root).iter().any(|(path, _)| path == "inner.zip/data/x.npy"));
        assert!(paths(&opened("empty").root).is_empty());
        assert_eq!(opened("comment").root.attributes.len(), 1);
    }

    #[test]
    fn folders_links_and_names() {
        let names =
            |name: &str| paths(&opened(name).root).into_iter().map(|(path, _)| path).collect::<Vec<_>>();
        assert_eq!(names("with_folders"), ["a", "a/b", "a/b/c.txt", "empty"]);
        assert_eq!(names("name_twice"), ["a.txt", "a.txt (2)"]);
        assert_eq!(names("unicode_names"), ["naïve café.txt", "東京", "東京/雁.txt"]);
        assert_eq!(names("many_members").len(), 60);
        let climbing = names("malformed/names_climb_out");
        assert_eq!(climbing, ["../climbs.txt", "/absolute.txt", "a/../../b.txt", "C:\\windows.txt"]);
        let link = opened("symlink").root.find(&Task::new(), "link").unwrap().unwrap();
        assert!(link.content.is_some());
    }

    #[test]
    fn a_broken_member_never_hides_the_others() {
        let document = opened("encrypted");
        let secret = document.root.find(&Task::new(), "secret.txt").unwrap().unwrap();
        let problem = secret.problem.as_ref().unwrap();
        assert!(problem.kind() == ErrorKind::Unsupported && problem.message().contains("encrypted"));
        let clear = document.root.find(&Task::new(), "clear.txt").unwrap().unwrap();
        assert!(clear.problem.is_none() && clear.content.is_some());
        for name in ["local_header_gone", "member_offset_beyond", "method_unknown", "size_huge"] {
            let found = paths(&opened(&format!("malformed/{name}")).root);
            let bad = found.iter().filter(|(_, what)| !what.chars().all(|c| c.is_ascii_lowercase())).count();
            assert!(bad == 1 && found.iter().any(|(_, what)| what == "array"), "{name}: {found:?}");
        }
        for name in ["cut_in_directory", "cut_no_directory", "directory_offset_beyond"] {
            let document = opened(&format!("malformed/{name}"));
            assert!(document.root.problem.is_some() && document.root.child_count() > Some(0), "{name}");
        }
    }
}
