//! tar archives as trees of their members, each opened as what it is when somebody looks into it.
//! The container itself is read by [`crate::bytes::archive::tar`].
//!
//! Small archives are gone through when they are opened; of large ones only the start, the rest when
//! somebody looks at the members (a tar has no directory), with progress.

use crate::bytes::archive::tar::{self, Kind, Member, Scan};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::format::{Format, Opening, Options};
use crate::data::node::{Listing, Node};
use crate::data::sniff::{Head, Match};
use crate::engines::archive::{self as tree, Members};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["tar"],
    mime: &["application/x-tar"],
    sniff: Some(sniff),
    ..Format::new("tar", "tar archive", open)
};

/// How many members, and bytes of a stream, are gone through when opening.
const BEGUN: usize = 4096;
const BEGUN_BYTES: u64 = 8 << 20;

/// The first block is a header. Old tars have no magic, only a checksum; empty ones are all zeros.
fn sniff(head: &Head) -> Match {
    if head.is_folder || head.first.len() < 512 {
        return Match::No;
    }
    let first = head.first.get(..512).unwrap_or_default();
    if tar::has_magic(first) || first.first() != Some(&0) && tar::has_good_checksum(first) {
        return Match::Yes;
    }
    if first.iter().all(|&b| b == 0) { Match::Maybe } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let mut scan = Scan::new(source);
    let mut members = Vec::new();
    while members.len() < BEGUN && (source.is_random_access() || scan.at() < BEGUN_BYTES) {
        match scan.next(task)? {
            Some(member) => members.push(member),
            None => break,
        }
    }
    let root = Node::new("", "file").separator("");
    if !scan.is_done() {
        let rest = Mutex::new(Some((scan, members)));
        let (source, options) = (source.clone(), opening.options.clone());
        return Ok(root.lazy(Later { source, options, rest, found: OnceLock::new() }));
    }
    let problem = scan.problem.take();
    let root = Node { problem, ..root };
    tree::attach(task, root, Tar::new(source, opening.options, members))
}

/// The members of a large archive: looked for when somebody asks.
struct Later {
    source: Source,
    options: Options,
    rest: Mutex<Option<(Scan, Vec<Member>)>>,
    found: OnceLock<Box<dyn Listing>>,
}

impl Later {
    fn listing(&self, task: &Task) -> Result<&dyn Listing> {
        if let Some(found) = self.found.get() {
            return Ok(&**found);
        }
        let mut rest = loop {
            task.check()?;
            if let Some(rest) = self.rest.try_lock_for(Duration::from_millis(20)) {
                break rest;
            }
        };
        if let Some(found) = self.found.get() {
            return Ok(&**found);
        }
        let Some((scan, members)) = &mut *rest else { return Err(Error::bug("a tar that was not begun")) };
        task.set_total(self.source.known_len().unwrap_or(0));
        task.set_message(format!("looking for the members of {}", self.source.name()));
        while let Some(member) = scan.next(task)? {
            members.push(member);
            if members.len() % 256 == 0 {
                task.reached(scan.at());
            }
        }
        if let Some(problem) = scan.problem.take() {
            members.push(broken_end(problem, scan.at()));
        }
        let found = tree::listing(task, Tar::new(&self.source, &self.options, std::mem::take(members)))?;
        *rest = None;
        Ok(&**self.found.get_or_init(|| Box::new(found)))
    }
}

/// The end of an archive that is found to be damaged when the root is long shown: as a member.
fn broken_end(problem: Error, at: u64) -> Member {
    Member {
        path: "(the rest of the archive)".into(),
        kind: Kind::Damaged,
        data: at,
        size: 0,
        modified: None,
        target: None,
        problem: Some(problem),
    }
}

impl Listing for Later {
    fn count(&self) -> Option<u64> {
        self.found.get().and_then(|found| found.count())
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        self.listing(task)?.page(task, range)
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        self.listing(task)?.find(task, name)
    }
}

/// The members of an archive.
struct Tar {
    source: Source,
    /// Those that members are opened with.
    options: Options,
    members: Vec<Member>,
    /// Files by their paths, where there are hard links to them.
    linked: HashMap<Box<str>, u32>,
}

impl Tar {
    fn new(source: &Source, options: &Options, members: Vec<Member>) -> Self {
        let mut linked: HashMap<Box<str>, u32> = HashMap::new();
        for member in members.iter().filter(|member| member.kind == Kind::HardLink) {
            linked.extend(member.target.clone().map(|target| (target, u32::MAX)));
        }
        if !linked.is_empty() {
            for (member, n) in members.iter().zip(0..) {
                if let Some(place) = linked.get_mut(&member.path).filter(|_| member.kind == Kind::File) {
                    *place = n;
                }
            }
        }
        Tar { source: source.clone(), options: options.clone(), members, linked }
    }

    /// The member that has the bytes of a hard link.
    fn behind<'a>(&'a self, member: &'a Member) -> Option<&'a Member> {
        match (&member.kind, &member.target) {
            (Kind::HardLink, Some(target)) => self.members.get(*self.linked.get(target)? as usize),
            _ => Some(member),
        }
    }

    fn content(&self, member: &Member, name: &str) -> Node {
        let label = match member.kind {
            Kind::HardLink | Kind::SymbolicLink => "link",
            Kind::Special => "device or pipe",
            _ => "member",
        };
        let node = Node::new(name, label);
        if let Some(problem) = &member.problem {
            let node = node.problem(problem.clone());
            let end = self.source.known_len().filter(|&end| end > member.data && member.size > 0);
            // What is there of a member that is cut off can still be looked at.
            let part = end.and_then(|end| self.source.member(name, member.data..end).ok());
            return part.map_or(node.clone(), |part| node.content(Content::Bytes(part)));
        }
        match member.kind {
            Kind::Sparse => {
                return node
                    .problem(Error::unsupported("a sparse member: its holes were left out of the archive"));
            }
            Kind::SymbolicLink | Kind::Special | Kind::Damaged | Kind::Folder => return node,
            Kind::File | Kind::HardLink => {}
        }
        let Some(file) = self.behind(member) else {
            let target = member.target.as_deref().unwrap_or_default();
            return node.problem(Error::malformed(format!("link: there is no member {target:?} to lead to")));
        };
        if let Some(problem) = &file.problem {
            return node.problem(problem.clone());
        }
        if file.size == 0 {
            let empty = Content::Bytes(Source::memory(name, &b""[..]));
            return node.content(empty).remark("it is empty (0 bytes)");
        }
        let Some(end) = file.data.checked_add(file.size) else {
            return node.problem(Error::malformed(format!("{} bytes lie beyond the archive", file.size)));
        };
        let (source, range, own) = (self.source.clone(), file.data..end, name.to_owned());
        let options = self.options.below(member.path.trim_start_matches("./"));
        crate::formats::ALL
            .nested(name, label, options, move |_| source.member(own.as_str(), range.clone()))
            .span(file.data..end)
    }
}

impl Members for Tar {
    fn count(&self) -> usize {
        self.members.len()
    }

    fn path(&self, index: usize) -> &str {
        self.members.get(index).map_or("", |member| &member.path)
    }

    fn is_folder(&self, index: usize) -> bool {
        self.members.get(index).is_some_and(|member| member.kind == Kind::Folder)
    }

    fn node(&self, index: usize, name: &str) -> Node {
        let Some(member) = self.members.get(index) else { return Node::new(name, "member") };
        let mut node = self.content(member, name);
        if let Some(target) = &member.target {
            node = node.read_as("target", &**target);
        }
        let time = member.modified.and_then(|seconds| chrono::DateTime::from_timestamp(seconds, 0));
        match time {
            Some(time) => node.read_as("modified", time.format("%Y-%m-%dT%H:%M:%S+00:00").to_string()),
            None => node,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::format::Options;
    use crate::data::open::Document;
    use proptest::prelude::*;
    use std::path::Path;

    fn opened(name: &str) -> Document {
        let path = format!("{}/fixtures/tar/{name}", env!("CARGO_MANIFEST_DIR"));
        crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
    }

    /// Paths with what is there: a kind, or the problem.
    fn paths(root: &Arc<Node>) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let mut visit = |node: &Arc<Node>, path: &str, level: usize| {
            if level > 0 && node.label != "column" {
                let what = node.problem.as_ref().map_or(node.kind().word().to_owned(), Error::message);
                all.push((path.to_owned(), what));
            }
            Ok(true)
        };
        crate::data::open::walk(&Task::new(), root, "", 16, &mut visit).unwrap();
        all
    }

    fn names(file: &str) -> Vec<String> {
        paths(&opened(file).root).into_iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn every_writer_and_wrapper_gives_the_same_members() {
        let expected = ["data", "data/table.csv", "data/x.npy", "README.txt"];
        for file in [
            "ustar.tar",
            "members.tar.gz",
            "members.tgz",
            "members.tar.zst",
            "members.tar.bz2",
            "members.tar.xz",
            "base_256_size.tar",
        ] {
            let document = opened(file);
            assert_eq!(names(file), expected, "{file}");
            let array = document.root.find(&Task::new(), "data/x.npy").unwrap().unwrap();
            assert!(matches!(array.content, Some(Content::Array(_))), "{file}");
        }
        for file in ["gnu_long_names.tar", "pax_long_names.tar"] {
            let long = names(file);
            assert!(long.iter().any(|path| path.len() > 250 && path.ends_with(".txt")), "{file}: {long:?}");
            assert!(long.iter().any(|path| path == "naïve/東京.txt"), "{file}: {long:?}");
        }
        assert_eq!(names("old_v7.tar"), ["a.txt"]);
        assert_eq!(names("no_end_blocks.tar"), ["a.txt"]);
        assert!(names("no_members.tar").is_empty());
    }

    #[test]
    fn a_hard_link_shares_the_problem_of_its_file() {
        let path = format!("{}/fixtures/tar/kinds.tar", env!("CARGO_MANIFEST_DIR"));
        let mut bytes = std::fs::read(path).unwrap();
        // The size of dir/a.txt, in the notation of numbers beyond eleven octal digits (base 256), and the checksum.
        bytes[512 + 124..512 + 136].copy_from_slice(&[0x80, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 254]);
        bytes[512 + 148..512 + 156].fill(b' ');
        let sum: u32 = bytes[512..1024].iter().map(|&byte| u32::from(byte)).sum();
        bytes[512 + 148..512 + 156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let source = crate::bytes::source::Source::memory("kinds.tar", bytes);
        let root = crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap().root;
        for name in ["dir/a.txt", "hard"] {
            let node = root.find(&Task::new(), name).unwrap().unwrap();
            assert!(node.problem.is_some(), "{name}");
        }
    }

    #[test]
    fn links_and_devices_are_named() {
        let document = opened("kinds.tar");
        let find = |name: &str| document.root.find(&Task::new(), name).unwrap().unwrap();
        assert_eq!(find("link").reader[0], ("target".into(), "dir/a.txt".into()));
        assert_eq!((find("pipe").label, find("dir").label), ("device or pipe", "folder"));
        assert!(find("hard").content.is_some(), "a hard link has the bytes of its file");
        assert!(find("hard").problem.is_none());
    }

    #[test]
    fn a_broken_member_never_hides_the_others() {
        for (file, expected) in [
            ("malformed/bad_checksum_first.tar", vec!["data/table.csv", "data/x.npy", "README.txt"]),
            ("malformed/bad_checksum_second.tar", vec!["data/table.csv", "data/x.npy", "README.txt"]),
            ("malformed/size_huge.tar", vec!["data/table.csv", "data/x.npy", "README.txt"]),
            ("malformed/size_base_256_huge.tar", vec!["data/table.csv", "data/x.npy", "README.txt"]),
            ("malformed/size_negative.tar", vec!["data/table.csv", "data/x.npy", "README.txt"]),
            ("malformed/size_not_octal.tar", vec!["data/table.csv", "data/x.npy", "README.txt"]),
            ("malformed/cut_in_member.tar", vec!["README.txt"]),
            ("malformed/cut_in_header.tar", vec!["README.txt"]),
        ] {
            let document = opened(file);
            let found = paths(&document.root);
            let names: Vec<&str> =
                found.iter().map(|(path, _)| path.as_str()).filter(|p| *p != "data").collect();
            assert_eq!(names, expected, "{file}");
            let bad: Vec<&String> =
                found.iter().map(|(_, what)| what).filter(|what| what.contains("malformed")).collect();
            assert_eq!(bad.len() + usize::from(document.root.problem.is_some()), 1, "{file}: {found:?}");
        }
        let climbing = names("malformed/names_climb_out.tar");
        assert_eq!(climbing, ["../climbs.txt", "/absolute.txt", "out"]);
    }

    #[test]
    fn a_large_archive_is_gone_through_when_somebody_looks() {
        let mut file = Vec::new();
        for n in 0..10_000u32 {
            let mut header = [0u8; 512];
            let name = format!("{:02}/{n}.log", n % 10);
            header[..name.len()].copy_from_slice(name.as_bytes());
            header[124..135].copy_from_slice(b"00000000005");
            header[156] = b'0';
            header[257..263].copy_from_slice(b"ustar\0");
            header[148..156].fill(b' ');
            let sum: u32 = header.iter().map(|&b| u32::from(b)).sum();
            header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
            file.extend(header);
            file.extend(format!("{n:05}").into_bytes());
            file.resize(file.len().next_multiple_of(512), 0);
        }
        let task = Task::new();
        let source = Source::memory("x.tar", file);
        let document = crate::formats::open_source(&task, &source, &Options::default()).unwrap();
        assert_eq!((document.format.id, document.root.child_count()), ("tar", None));
        let node = document.root.find(&task, "07/9997.log").unwrap().unwrap();
        assert_eq!(node.name, "9997.log");
        assert_eq!(document.root.child_count(), Some(10));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(at in 0usize..4096, value: u8, cut in 0usize..4096) {
            let name = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/tar/pax_long_names.tar");
            let mut bytes = std::fs::read(name).unwrap();
            let len = bytes.len();
            bytes[at % len] = value;
            bytes.truncate(len - cut % len);
            let mut scan = Scan::new(&Source::memory("x.tar", bytes));
            let mut members = 0;
            while scan.next(&Task::new()).unwrap().is_some() {
                members += 1;
            }
            prop_assert!(members < 100);
        }
    }
}
