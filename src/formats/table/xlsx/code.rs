//! What a number format makes of a number (ECMA-376 part 1, section 18.8.31): up to four sections between
//! semicolons, of which the number's sign or a condition in brackets picks one.
//!
//! Whether a section shows a date is told by its letters outside quotes, escapes and brackets.

use std::collections::HashMap;

/// What a number under a format is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A number.
    Number,
    /// A date, perhaps with a time.
    Date,
    /// A time without a date.
    Time,
    /// Hours, minutes or seconds that do not wrap around: a duration.
    Elapsed,
}

/// When a section is used.
#[derive(Clone, Copy, Debug)]
enum Condition {
    Less(f64),
    LessOrEqual(f64),
    Equal(f64),
    NotEqual(f64),
    GreaterOrEqual(f64),
    Greater(f64),
}

impl Condition {
    /// What stands in brackets, if it is a condition.
    fn parse(text: &str) -> Option<Condition> {
        let makers: [(&str, fn(f64) -> Condition); 6] = [
            ("<=", Condition::LessOrEqual),
            (">=", Condition::GreaterOrEqual),
            ("<>", Condition::NotEqual),
            ("<", Condition::Less),
            (">", Condition::Greater),
            ("=", Condition::Equal),
        ];
        makers.iter().find_map(|(sign, make)| Some(make(text.strip_prefix(sign)?.trim().parse().ok()?)))
    }

    fn holds(self, value: f64) -> bool {
        match self {
            Condition::Less(limit) => value < limit,
            Condition::LessOrEqual(limit) => value <= limit,
            Condition::Equal(limit) => value == limit,
            Condition::NotEqual(limit) => value != limit,
            Condition::GreaterOrEqual(limit) => value >= limit,
            Condition::Greater(limit) => value > limit,
        }
    }
}

/// One section.
#[derive(Clone, Debug, Default)]
struct Section {
    condition: Option<Condition>,
    /// `None` where it is nothing but literal text.
    class: Option<Class>,
    /// Whether it is for texts.
    texts: bool,
}

/// A number format.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberFormat(Vec<Section>);

impl NumberFormat {
    /// The format of a code.
    pub(super) fn parse(code: &str) -> NumberFormat {
        let mut rest = code.chars().peekable();
        let mut sections = Vec::new();
        while rest.peek().is_some() {
            sections.push(section(&mut rest));
        }
        // The last of several is for texts if it says so.
        if sections.len() > 1 && sections.last().is_some_and(|last: &Section| last.texts) {
            sections.pop();
        }
        sections.truncate(3);
        NumberFormat(sections)
    }

    /// The format that every workbook has under a number (section 18.8.30), those of East Asian editions too.
    pub(super) fn built_in(id: u32) -> NumberFormat {
        let class = match id {
            14..=17 | 22 | 27..=31 | 36 | 50..=54 | 57 | 58 => Class::Date,
            18..=21 | 32..=35 | 45 | 47 | 55 | 56 => Class::Time,
            46 => Class::Elapsed,
            _ => Class::Number,
        };
        NumberFormat(vec![Section { class: Some(class), ..Section::default() }])
    }

    /// What a number is under it.
    pub(super) fn class(&self, value: f64) -> Class {
        // What the format is for is said by its first section that shows the number at all. A format for
        // numbers shows no dates in other sections: letters there are literals without their quotes.
        let Some(first) = self.0.iter().find_map(|section| section.class) else { return Class::Number };
        if first == Class::Number {
            return Class::Number;
        }
        let used = self.section(value).and_then(|section| section.class);
        used.unwrap_or(first)
    }

    fn section(&self, value: f64) -> Option<&Section> {
        let with = |section: &&Section| section.condition.is_some_and(|condition| condition.holds(value));
        match self.0.as_slice() {
            [] => None,
            [only] => Some(only),
            sections if sections.iter().any(|section| section.condition.is_some()) => {
                // The last one, or the first without a condition, takes what no condition does.
                let rest = || sections.iter().rev().find(|section| section.condition.is_none());
                sections.iter().find(with).or_else(rest)
            }
            // A zero that is shown otherwise, as a dash or as nothing, is what its neighbours are.
            [_, _, ..] if value == 0.0 => None,
            [positive, negative, ..] => Some(if value < 0.0 { negative } else { positive }),
        }
    }
}

/// Number formats by the number of a cell's style.
#[derive(Default)]
pub(super) struct Formats {
    formats: Vec<NumberFormat>,
    /// Of each style, the place of its format.
    styles: Vec<u32>,
    by_id: HashMap<u32, u32>,
    codes: HashMap<u32, String>,
}

impl Formats {
    /// Notes the code of a format.
    pub(super) fn code(&mut self, id: u32, code: String) {
        self.codes.insert(id, code);
    }

    /// Notes the format of the next style. Codes may come later.
    pub(super) fn style(&mut self, id: u32) {
        self.styles.push(id);
    }

    /// Looks formats up, once all are noted.
    pub(super) fn done(mut self) -> Formats {
        for style in &mut self.styles {
            let place = self.by_id.entry(*style).or_insert_with(|| {
                let code = self.codes.get(style);
                self.formats
                    .push(code.map_or_else(|| NumberFormat::built_in(*style), |c| NumberFormat::parse(c)));
                (self.formats.len() - 1) as u32
            });
            *style = *place;
        }
        self.codes.clear();
        self
    }

    /// What a number in a cell of this style is.
    pub(super) fn class(&self, style: usize, value: f64) -> Class {
        let format = self.styles.get(style).and_then(|at| self.formats.get(*at as usize));
        format.map_or(Class::Number, |format| format.class(value))
    }
}

/// What was found in a section so far.
#[derive(Default)]
struct Letters {
    section: Section,
    date: bool,
    time: bool,
    elapsed: bool,
    number: bool,
    /// An `m` of which it is not known yet whether it is a month; whether hours stand right before.
    months: bool,
    hours: bool,
}

/// Takes a section with the semicolon behind it.
fn section(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Section {
    let mut found = Letters::default();
    while let Some(letter) = rest.next() {
        match letter {
            ';' => break,
            '"' => while rest.next().is_some_and(|letter| letter != '"') {},
            // The next character stands for itself, for its width, or fills the cell.
            '\\' | '_' | '*' => _ = rest.next(),
            '[' => {
                let inner: String =
                    std::iter::from_fn(|| rest.next().filter(|letter| *letter != ']')).collect();
                found.bracket(&inner);
            }
            'a' | 'A' => {
                // AM/PM or A/P; any other word with this letter is no token.
                if rest.clone().take(2).any(|letter| letter == '/') {
                    let long = rest.peek().is_some_and(|letter| letter.eq_ignore_ascii_case(&'m'));
                    rest.by_ref().take(if long { 4 } else { 2 }).for_each(|_| ());
                    found.time = true;
                }
            }
            'g' | 'G' | 's' | 'S' if named(rest) => {
                found.number = true;
                found.word(rest);
            }
            '@' => found.section.texts = true,
            _ => found.letter(letter),
        }
    }
    found.done()
}

/// Whether the rest is that of `General`, or of its German name, which some programs write.
fn named(rest: &std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    let word: String = rest.clone().take(7).collect::<String>().to_ascii_lowercase();
    word.starts_with("eneral") || word.starts_with("tandard")
}

impl Letters {
    fn bracket(&mut self, inner: &str) {
        let lower = inner.to_ascii_lowercase();
        let unit = lower.chars().next().filter(|unit| matches!(unit, 'h' | 'm' | 's'));
        if unit.is_some_and(|unit| lower.chars().all(|letter| letter == unit)) {
            self.elapsed = true;
            self.hours = unit == Some('h');
        } else if let Some(condition) = Condition::parse(inner) {
            self.section.condition = Some(condition);
        }
    }

    /// Skips the letters of a word.
    fn word(&mut self, rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
        while rest.next_if(char::is_ascii_alphabetic).is_some() {}
    }

    fn letter(&mut self, letter: char) {
        // Letters behind the digits of a number are no date's: seconds have their digits behind them.
        if self.number {
            return;
        }
        match letter.to_ascii_lowercase() {
            'y' | 'd' => (self.date, self.hours) = (true, false),
            'h' => (self.time, self.hours) = (true, true),
            // Minutes stand behind hours or before seconds, months anywhere else.
            'm' if self.hours => self.time = true,
            'm' => self.months = true,
            's' => {
                self.time = true;
                self.months = false;
                self.hours = false;
            }
            '0' | '#' | '?' if !(self.date || self.time || self.elapsed || self.months) => self.number = true,
            _ => {}
        }
    }

    fn done(mut self) -> Section {
        let class = match () {
            () if self.number => Some(Class::Number),
            () if self.elapsed => Some(Class::Elapsed),
            () if self.date || self.months => Some(Class::Date),
            () if self.time => Some(Class::Time),
            () if self.section.texts => Some(Class::Number),
            () => None,
        };
        self.section.class = class;
        self.section
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(code: &str, value: f64) -> Class {
        NumberFormat::parse(code).class(value)
    }

    #[test]
    fn dates_times_and_durations_are_told_by_their_letters() {
        for code in [
            "yyyy-mm-dd",
            "DD/MM/YY",
            "mmm yy",
            "m\"M\"d\"D\";@",
            "[$-404]e\"\\xfc\"m\"\\xfc\"d\"\\xfc\"",
            "[$-409]d\\-mmm\\-yy;@",
            "yyyy\\-mm\\-dd\\Thh:mm:ss.000",
            "*-yyyy",
            "TT.MM.JJJJ",
            "[Red]d/m",
            "m/d/yy h:mm AM/PM",
        ] {
            assert_eq!(class(code, 45_000.0), Class::Date, "{code}");
        }
        for code in
            ["h:mm", "H:MM:SS;@", "mm:ss.0", "hh:mm:ss AM/PM", "h a/p", "[$-F400]h:mm:ss\\ AM/PM", "ss.00"]
        {
            assert_eq!(class(code, 0.5), Class::Time, "{code}");
        }
        for code in [
            "[h]:mm:ss",
            "[hh]:mm",
            "[mm]:ss",
            "[s].000",
            "[>=100][Magenta][s].00",
            "[h]:mm;[=0]\\-",
            "[Blue]\\+[h]:mm;[Red]\\-[h]:mm;[Green][h]:mm",
            "[h]:mm:ss;@",
        ] {
            for value in [-3.5, 0.0, 3.5, 200.0] {
                assert_eq!(class(code, value), Class::Elapsed, "{code} {value}");
            }
        }
    }

    #[test]
    fn literals_colours_and_conditions_make_no_dates() {
        let codes = [
            "General",
            "GENERAL",
            "Standard",
            "0.00",
            "#,##0\\ [$\u{20bd}-46D]",
            "0.0\" days\"",
            "0\\d",
            "\"Y: \"0.00\"m\";\"Y: \"-0.00\"m\";\"Y: <num>m\";@",
            "#,##0.00\\ _M\"H\"_);[Red]#,##0.00\\ _M\"S\"_)",
            "#,##0*y",
            "[<1]0.0%;[Red]d",
            "[Red][<1]0.0%;[Blue]0",
            "[>=1000000]0.0,,\"M\";[>=1000]0.0,\"K\";0",
            "[<=9999999]###\\-####;\\(###\\)\\ ###\\-####",
            "[=1]\"day\";[>1]0\" days\";General",
            "0.00E+00",
            "\"a_\"0\"days\"",
            "\"*\"0;\"d\"0",
            "\"\\\"0.0;\"dmy\"",
            "[Magenta]0",
            "[DBNum1]0",
            "@",
            "",
            "0 days",
            "# ?/?",
            "[$USD-409]\\ #,##0.00",
            "[Yellow]General;[Cyan]\"d\"General",
            "0.0 \"m/s\"",
            "\"my\"",
            ";;;",
        ];
        for code in codes {
            for value in [-5.0, 0.0, 0.5, 1.0, 2.0, 45_000.0] {
                assert_eq!(class(code, value), Class::Number, "{code} {value}");
            }
        }
    }

    #[test]
    fn the_section_that_the_number_falls_into_decides() {
        assert_eq!(class("[>=36526]d/m/yyyy;0", 5.0), Class::Number);
        assert_eq!(class("[>=36526]d/m/yyyy;0", 45_000.0), Class::Date);
        assert_eq!(class("[<1]h:mm;General", 0.25), Class::Time);
        assert_eq!(class("[<1]h:mm;General", 12.0), Class::Number);
        assert_eq!(class("[=0]\"\";d/m/yyyy", 45_000.0), Class::Date);
        assert_eq!(class("[<0.5]h:mm \"am\";[>=0.5]h:mm \"pm\"", 0.75), Class::Time);
        assert_eq!(class("yyyy;0;\"none\"", -3.0), Class::Number);
        // What is shown as a word only is what its neighbours are.
        assert_eq!(class("d/m/yy;;\"none\"", 0.0), Class::Date);
        assert_eq!(class("d/m/yy;d/m/yy;_-* \"\"??_-;_-@_-", 0.0), Class::Date);
    }

    #[test]
    fn every_workbook_has_some() {
        let class = |id| NumberFormat::built_in(id).class(1.0);
        assert_eq!([0, 2, 10, 49].map(class), [Class::Number; 4]);
        assert_eq!([14, 17, 22, 58].map(class), [Class::Date; 4]);
        assert_eq!([18, 21, 45, 47].map(class), [Class::Time; 4]);
        assert_eq!(class(46), Class::Elapsed);
    }
}
