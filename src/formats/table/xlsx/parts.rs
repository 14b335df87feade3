//! A workbook whose sheets are parts of a package (ECMA-376 part 2), whatever encodes the parts: XML
//! ([`super::ooxml`]) or binary records ([`super::xlsb`]).

use super::book::{Directory, Sheet, SheetKind, Workbook};
use super::code::Formats;
use super::package::{Package, Relation};
use super::sheet::{Gathered, SharedTexts};
use super::value::Epoch;
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::marker::PhantomData;

/// How the parts are encoded.
pub(super) trait Encoding: Send + 'static {
    /// How the content type of a sheet's part ends.
    const SHEET: &'static str;
    /// How the content type of the part with the number formats ends, and its usual name.
    const STYLES: (&'static str, &'static str);
    /// The same of the part with the shared texts.
    const TEXTS: (&'static str, &'static str);

    /// Reads the workbook's own part: sheets, names of ranges, the epoch of dates. Returns whether it is one.
    fn workbook(task: &Task, part: &Source, list: &mut List) -> Result<bool>;

    /// Reads the number formats.
    fn formats(task: &Task, part: &Source) -> Result<Formats>;

    /// Reads the shared texts.
    fn texts(task: &Task, part: &Source, texts: &mut SharedTexts) -> Result<()>;

    /// Reads the cells of a sheet; those before a place that cannot be read are in `out`.
    fn cells(task: &Task, part: &Source, shared: &Shared, out: &mut Gathered) -> Result<()>;
}

/// What the workbook's own part lists.
pub(super) struct List {
    package: Package,
    relations: Vec<Relation>,
    /// The places of relationships by their identifiers.
    by_id: HashMap<String, usize>,
    pub(super) directory: Directory,
    /// The parts of the sheets.
    parts: Vec<Option<String>>,
    /// The parts that are sheets by their content type, in the order of their numbers; looked for once.
    numbered: OnceCell<Vec<String>>,
    pub(super) epoch: Epoch,
}

impl List {
    /// What the workbook relates to by this identifier.
    pub(super) fn relation(&self, id: &str) -> Option<&Relation> {
        self.relations.get(*self.by_id.get(id)?)
    }

    /// Adds a sheet, which the relationship of this identifier leads to.
    ///
    /// # Errors
    /// `Limit` where there are too many; `Cancelled`.
    pub(super) fn sheet<E: Encoding>(
        &mut self,
        task: &Task,
        id: &str,
        name: String,
        hidden: bool,
    ) -> Result<()> {
        task.check()?;
        let relation = self.relation(id);
        let kind = SheetKind::of_relation(relation.map_or("", |relation| &relation.kind));
        // Without relationships the parts stand in the order of their numbers.
        let numbered = || self.numbered.get_or_init(|| self.package.of_type(E::SHEET));
        let nth = || numbered().get(self.parts.len()).cloned();
        let part = relation.map(|relation| relation.target.clone());
        let part = part.or_else(|| if self.relations.is_empty() { nth() } else { None });
        self.directory.sheet(Sheet { name, kind, hidden })?;
        self.parts.push(part);
        Ok(())
    }
}

/// What the sheets share.
pub(super) struct Shared {
    pub(super) texts: Vec<String>,
    pub(super) formats: Formats,
    pub(super) epoch: Epoch,
}

/// An open workbook.
pub(super) struct PackageWorkbook<E> {
    list: List,
    /// The name of the workbook's own part.
    part: String,
    /// Read with the first sheet.
    shared: Option<Shared>,
    encoding: PhantomData<E>,
}

impl<E: Encoding> PackageWorkbook<E> {
    /// The workbook in the part of this name.
    pub(super) fn open(task: &Task, package: Package, part: String) -> Result<Self> {
        let relations = package.relations(task, &part)?;
        let missing = || Error::malformed(format!("workbook: there is no part {part:?}"));
        let source = package.part(task, &part)?.ok_or_else(missing)?;
        let mut by_id = HashMap::new();
        for (place, relation) in relations.iter().enumerate() {
            by_id.entry(relation.id.clone()).or_insert(place);
        }
        let mut list = List {
            package,
            relations,
            by_id,
            directory: Directory::default(),
            parts: Vec::new(),
            numbered: OnceCell::new(),
            epoch: Epoch::default(),
        };
        if !E::workbook(task, &source, &mut list)? {
            return Err(Error::malformed(format!("workbook: the part {part:?} is none")));
        }
        Ok(PackageWorkbook { list, part, shared: None, encoding: PhantomData })
    }

    /// The part of what all sheets share, by its relationship, its content type or its usual name.
    fn related(&self, task: &Task, kind: &str, (of_type, name): (&str, &str)) -> Result<Option<Source>> {
        let List { package, relations, .. } = &self.list;
        let part = package.related(relations, kind, &[of_type], &self.part, name);
        Ok(part.map(|part| package.part(task, &part)).transpose()?.flatten())
    }

    fn share(&self, task: &Task) -> Result<Shared> {
        let formats = match self.related(task, "styles", E::STYLES)? {
            Some(part) => E::formats(task, &part)?,
            None => Formats::default(),
        };
        let mut texts = SharedTexts::default();
        if let Some(part) = self.related(task, "sharedStrings", E::TEXTS)? {
            E::texts(task, &part, &mut texts)?;
        }
        Ok(Shared { texts: texts.all, formats, epoch: self.list.epoch })
    }
}

impl<E: Encoding> Workbook for PackageWorkbook<E> {
    fn directory(&self) -> &Directory {
        &self.list.directory
    }

    fn cells(&mut self, task: &Task, number: usize, out: &mut Gathered) -> Result<()> {
        let shared = match self.shared.take() {
            Some(shared) => shared,
            None => self.share(task)?,
        };
        let shared = self.shared.insert(shared);
        let part = self.list.parts.get(number).and_then(Option::as_deref);
        let part = part.ok_or_else(|| Error::malformed("workbook: no relationship leads to this sheet"))?;
        let source = self.list.package.part(task, part)?;
        let source =
            source.ok_or_else(|| Error::malformed(format!("workbook: there is no part {part:?}")))?;
        E::cells(task, &source, shared, out).map_err(|error| error.in_file(part))
    }
}
