//! Files that were packed to the end of a model as a ZIP archive.

use crate::bytes::archive::zip::{Archive, Method};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::data::format::{Opening, Options};
use crate::data::node::Node;
use crate::engines::archive::{self as tree, Members};

/// The record that ends an archive, without its comment.
const END: &[u8] = b"PK\x05\x06";
const END_LEN: usize = 22;

/// The files, where there are any.
///
/// # Errors
/// `Cancelled`.
pub(super) fn node(opening: &Opening) -> Result<Option<Node>> {
    let last = &opening.head.last;
    let is_end = |at: usize| {
        let end = last.get(at..)?;
        let comment = crate::bytes::numbers::le::<u16>(end, END_LEN - 2)?;
        (end.len() == END_LEN + usize::from(comment)).then_some(())
    };
    let there = memchr::memmem::rfind_iter(last, END).any(|at| is_end(at).is_some());
    if !there || !opening.source.is_random_access() {
        return Ok(None);
    }
    let node = Node::new("associated files", "archive");
    Ok(Some(match Archive::open(opening.task, opening.source).unless_cancelled()? {
        Ok(archive) => {
            let problem = archive.problem.clone();
            let mut node = tree::attach(opening.task, node, Files(archive, opening.options.clone()))?;
            node.problem = problem;
            node
        }
        Err(error) => node.problem(error),
    }))
}

/// The members, and the options that some are opened with.
struct Files(Archive, Options);

impl Members for Files {
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
        if member.encrypted {
            let what = format!("member {:?} is encrypted", member.name);
            return Node::new(name, "member").problem(Error::unsupported(what));
        }
        let (archive, member) = (self.0.clone(), member.clone());
        let options = self.1.below(&member.name);
        let method = member.method;
        let node =
            crate::formats::ALL.nested(name, "member", options, move |task| archive.read(task, &member));
        if method == Method::Stored { node } else { node.read_as("compression", method.name()) }
    }
}
