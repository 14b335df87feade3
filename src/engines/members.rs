//! Where the members of a ZIP archive lie in it: the local header and the stored bytes of each, and whose a byte is.

use crate::bytes::archive::zip::{Archive, Member, Method};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::location::{BytePlace, Location};
use crate::data::node::Places;
use bytes::Bytes;

/// The place of one member.
pub struct MemberPlace {
    /// The archive.
    pub archive: Archive,
    /// The member of it.
    pub member: Member,
}

impl Places for MemberPlace {
    fn location(&self, task: &Task) -> Result<Option<Location>> {
        location(task, &self.archive, &self.member).map(Some)
    }

    fn is_member(&self) -> bool {
        true
    }
}

/// The places of all members of an archive.
pub struct ArchivePlaces {
    /// The archive.
    pub archive: Archive,
    /// What a member is called in the tree.
    pub name: fn(&Member) -> String,
}

impl Places for ArchivePlaces {
    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<(String, Location)>> {
        let source = self.archive.source();
        let Some(at) = byte.offset_in(source) else { return Ok(None) };
        // The last member whose header begins at the byte or before.
        let begun = self.archive.members.iter().filter(|member| member.header <= at);
        let Some(member) = begun.max_by_key(|member| member.header) else { return Ok(None) };
        let location = location(task, &self.archive, member)?;
        Ok((at < location.range.end).then(|| ((self.name)(member), location)))
    }
}

/// Where a member lies.
fn location(task: &Task, archive: &Archive, member: &Member) -> Result<Location> {
    let (header, data) = archive.extent(task, member)?;
    let header = Location::new(archive.source().clone(), header, "local header", "");
    let len = member.size;
    let location = Location::new(archive.source().clone(), data, "member", member.name.as_str())
        .part("local header", header)
        .within(0..len);
    if member.method == Method::Stored && !member.encrypted {
        return Ok(location);
    }
    let mut codecs = vec![member.method.name()];
    if member.encrypted {
        codecs.push("encryption".to_owned());
    }
    let (archive, member) = (archive.clone(), member.clone());
    let decode = move |task: &Task, _: Bytes| {
        let source = archive.read(task, &member)?;
        let len = source.len(task)?;
        limits::check(len, limits::CHUNK, "an inflated member")?;
        if len != member.size {
            return Err(Error::malformed(format!("member {:?}: it has {len} bytes", member.name)));
        }
        source.read(task, 0..len)
    };
    Ok(location.decoded_by(codecs, decode))
}
