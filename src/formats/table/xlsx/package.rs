//! The parts of a workbook in a ZIP archive, as the Open Packaging Conventions name and relate them (ECMA-376
//! part 2): names do not tell upper case from lower, each part says in a file of its own what it relates to, and
//! `[Content_Types].xml` says what each is. Some writers put backslashes into names.

use super::xml::{Token, Xml, local_attribute};
use crate::bytes::archive::zip::{Archive, Member};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use std::collections::{HashMap, HashSet};

/// The archive with its parts by name.
pub(super) struct Package {
    archive: Archive,
    /// Members by their names in lower case, with slashes.
    members: HashMap<String, usize>,
    /// The same by their names as they are: two may differ in this alone.
    exact: HashMap<String, usize>,
    /// Content types of parts by name, and of all others by their extension.
    types: Vec<(String, String)>,
    extensions: Vec<(String, String)>,
}

/// A relationship of a part.
pub(super) struct Relation {
    pub(super) id: String,
    /// The last part of its type: `worksheet`.
    pub(super) kind: String,
    /// The name of the part that it leads to.
    pub(super) target: String,
}

impl Package {
    /// The package in `source`.
    ///
    /// # Errors
    /// Where its directory is damaged or a content type cannot be read.
    pub(super) fn open(task: &Task, source: &Source) -> Result<Package> {
        let archive = Archive::open(task, source)?;
        if let Some(problem) = archive.problem {
            return Err(problem);
        }
        let files = archive.members.iter().enumerate().filter(|(_, member)| !member.is_folder());
        let (mut members, mut exact) = (HashMap::new(), HashMap::new());
        for (n, member) in files {
            members.entry(normal(&member.name)).or_insert(n);
            exact.insert(resolve("", &member.name), n);
        }
        let (types, extensions) = (Vec::new(), Vec::new());
        let mut package = Package { archive, members, exact, types, extensions };
        package.read_types(task)?;
        Ok(package)
    }

    fn read_types(&mut self, task: &Task) -> Result<()> {
        let Some(mut xml) = self.header(task, "[Content_Types].xml")? else { return Ok(()) };
        loop {
            match xml.next()? {
                Token::Open(tag) => {
                    let of = local_attribute(&tag, "ContentType").map(|of| of.to_ascii_lowercase());
                    let name = local_attribute(&tag, "PartName").map(|name| normal(&name));
                    let extension = local_attribute(&tag, "Extension").map(|name| name.to_ascii_lowercase());
                    match (of, name, extension) {
                        (Some(of), Some(name), _) => self.types.push((name, of)),
                        (Some(of), None, Some(extension)) => self.extensions.push((extension, of)),
                        _ => {}
                    }
                }
                Token::End => return Ok(()),
                _ => {}
            }
        }
    }

    /// The member that is the part of this name.
    fn member(&self, name: &str) -> Option<&Member> {
        let exact = self.exact.get(&resolve("", name));
        self.archive.members.get(*exact.or_else(|| self.members.get(&normal(name)))?)
    }

    /// Whether there is such a part.
    pub(super) fn has(&self, name: &str) -> bool {
        self.member(name).is_some()
    }

    /// The bytes of a part; `None` where it is not there.
    pub(super) fn part(&self, task: &Task, name: &str) -> Result<Option<Source>> {
        self.member(name).map(|member| self.archive.read(task, member)).transpose()
    }

    /// A part as XML whose content is kept; `None` where it is not there.
    pub(super) fn header(&self, task: &Task, name: &str) -> Result<Option<Xml>> {
        self.part(task, name)?.map(|source| Xml::open_header(task, &source)).transpose()
    }

    /// A part as XML; `None` where it is not there.
    pub(super) fn xml(&self, task: &Task, name: &str) -> Result<Option<Xml>> {
        self.part(task, name)?.map(|source| Xml::open(task, &source)).transpose()
    }

    /// The names of the parts of a content type whose name ends so, in the order of their numbers.
    pub(super) fn of_type(&self, end: &str) -> Vec<String> {
        let named = self.types.iter().filter(|(_, of)| of.ends_with(end)).map(|(name, _)| name);
        let of_end = self.extensions.iter().filter(|(_, of)| of.ends_with(end));
        let extensions: HashSet<&str> = of_end.map(|(extension, _)| extension.as_str()).collect();
        // Looked up rather than searched: archives with many members and types exist to take long.
        let mut others: Vec<&String> = Vec::new();
        if !extensions.is_empty() {
            let typed: HashSet<&String> = self.types.iter().map(|(name, _)| name).collect();
            let of_extension =
                |name: &&String| name.rsplit_once('.').is_some_and(|(_, own)| extensions.contains(own));
            let untyped = |name: &&String| !typed.contains(*name);
            others.extend(self.members.keys().filter(of_extension).filter(untyped));
        }
        let found = named.filter(|name| self.has(name)).chain(others);
        let mut found: Vec<String> = found.cloned().collect();
        found.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        found
    }

    /// The first of them.
    fn first_of_type(&self, ends: &[&str]) -> Option<String> {
        ends.iter().find_map(|end| self.of_type(end).into_iter().next())
    }

    /// The part whose name ends in one of these; one in few folders before others.
    pub(super) fn named(&self, ends: &[&str]) -> Option<String> {
        let file = |name: &&String| ends.iter().any(|end| name.rsplit('/').next() == Some(end));
        self.members.keys().filter(file).min_by_key(|name| (name.matches('/').count(), name.len())).cloned()
    }

    /// What a part relates to; the package itself where `part` is empty.
    pub(super) fn relations(&self, task: &Task, part: &str) -> Result<Vec<Relation>> {
        let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
        let mut found = Vec::new();
        let name = format!("{folder}/_rels/{file}.rels");
        let Some(mut xml) = self.header(task, &name)? else { return Ok(found) };
        loop {
            match xml.next()? {
                Token::Open(tag) if tag.local_name().as_ref() == "Relationship" => {
                    let is_external =
                        local_attribute(&tag, "TargetMode").is_some_and(|mode| mode == "External");
                    let of = local_attribute(&tag, "Type").unwrap_or_default();
                    if let Some(target) = local_attribute(&tag, "Target").filter(|_| !is_external) {
                        found.push(Relation {
                            id: local_attribute(&tag, "Id").unwrap_or_default().into_owned(),
                            kind: of.rsplit('/').next().unwrap_or_default().to_owned(),
                            target: self.target(folder, &target),
                        });
                    }
                }
                Token::End => return Ok(found),
                _ => {}
            }
        }
    }

    /// The part that a target of a relationship names. Targets are relative to the part's folder; some writers
    /// give them from the root without saying so.
    fn target(&self, folder: &str, target: &str) -> String {
        let resolved = resolve(folder, target);
        let from_root = resolve("", target);
        if !self.has(&resolved) && self.has(&from_root) { from_root } else { resolved }
    }

    /// The part that `part` relates to in this way, the one of this content type, or the one that is called so.
    pub(super) fn related(
        &self,
        relations: &[Relation],
        kind: &str,
        of_type: &[&str],
        part: &str,
        name: &str,
    ) -> Option<String> {
        let related = relations.iter().find(|relation| relation.kind == kind && self.has(&relation.target));
        let typed = || self.first_of_type(of_type);
        let beside = || Some(resolve(part.rsplit_once('/').map_or("", |(folder, _)| folder), name));
        related
            .map(|relation| relation.target.clone())
            .or_else(typed)
            .or_else(|| beside().filter(|n| self.has(n)))
    }

    /// The part that is the workbook.
    ///
    /// # Errors
    /// `Malformed` where there is none.
    pub(super) fn workbook(&self, task: &Task) -> Result<String> {
        let relations = self.relations(task, "")?;
        let related = relations.into_iter().find(|r| r.kind == "officeDocument" && self.has(&r.target));
        let types = [
            "sheet.main+xml",
            "sheet.macroenabled.main+xml",
            "template.main+xml",
            "template.macroenabled.main+xml",
            "addin.macroenabled.main+xml",
            "sheet.binary.macroenabled.main",
        ];
        let typed = || self.first_of_type(&types);
        let found = related.map(|relation| relation.target).or_else(typed);
        found.or_else(|| self.named(&["workbook.xml", "workbook.bin"])).ok_or_else(|| {
            Error::malformed("workbook: no relationship and no content type of the archive names a workbook")
        })
    }

    /// Whether the archive has a member that is encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.archive.members.iter().any(|member| member.encrypted)
    }
}

/// A name as it is looked for: with slashes, none of them first, in lower case.
fn normal(name: &str) -> String {
    resolve("", name).to_lowercase()
}

/// The name that `target` has from the root where it stands in a part in `folder`.
fn resolve(folder: &str, target: &str) -> String {
    let target = target.replace('\\', "/");
    let folder = if target.starts_with('/') { "" } else { folder };
    let mut steps: Vec<&str> = Vec::new();
    for step in folder.split('/').chain(target.split('/')) {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()),
            step => steps.push(step),
        }
    }
    steps.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_lead_from_the_folder_of_their_part() {
        assert_eq!(resolve("xl", "worksheets/sheet1.xml"), "xl/worksheets/sheet1.xml");
        assert_eq!(resolve("xl/worksheets", "../tables/t.xml"), "xl/tables/t.xml");
        assert_eq!(resolve("xl", "/xl/styles.xml"), "xl/styles.xml");
        assert_eq!(resolve("", "..\\..\\a\\.\\b.xml"), "a/b.xml");
        assert_eq!(normal("\\XL\\Workbook.xml"), "xl/workbook.xml");
    }
}
