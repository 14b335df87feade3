//! What runs: the statements of a text one after the other, each with its result.

use gander::bytes::error::{Error, UnlessCancelled};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use gander::bytes::task::Task;
use gander::data::node::Node;
use gander::data::open::Document;
use gander::jobs::{JobSpec, Jobs, Slot};
use gander::query::{Engine, Failure, QueryResult};
use parking_lot::Mutex;

use super::plot::Plotted;
use super::steps::Steps;
use crate::gui::views::table::TableView;
use crate::gui::views::table::row_filter::settings;

/// How far a statement is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Waiting,
    Running,
    Done,
    Failed,
    /// The user ended it; the rows that came before stay.
    Stopped,
    /// One before it failed, or it was stopped.
    NotRun,
}

/// What a run gives, as it comes.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) answer: Option<Arc<QueryResult>>,
    pub(super) failure: Option<Failure>,
    /// Why not all of the files that the statement named could be read.
    pub(super) problems: Vec<Error>,
    pub(super) state: State,
}

/// How a result is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Rows,
    Plot,
    Plan,
}

/// A statement that runs or ran, and how its result is looked at.
pub(super) struct Run {
    pub(super) number: u64,
    pub(super) sql: String,
    /// The files that were open when it ran.
    pub(super) sources: Arc<[String]>,
    /// Where it stood in the text.
    place: usize,
    /// Which of the statements of the text it was, from 0 on.
    pub(super) nth: usize,
    /// Its result stays when the statement runs again.
    pub(super) is_pinned: bool,
    pub(super) outcome: Arc<Mutex<Outcome>>,
    /// What runs it and those that were started with it; it ends when none of them is kept any more.
    pub(super) job: Arc<Slot<(), ()>>,
    pub(super) mode: Mode,
    /// The result's view, and the answer that it shows.
    pub(super) view: Option<(Arc<QueryResult>, TableView)>,
    pub(super) plot: Plotted,
    pub(super) steps: Steps,
    /// That it failed was shown.
    pub(super) told: bool,
}

impl Run {
    /// The name by which other statements call the result.
    pub(super) fn name(&self) -> String {
        format!("result{}", self.number)
    }

    pub(super) fn state(&self) -> State {
        match self.outcome.lock().state {
            // What was stopped before its turn came never runs.
            State::Waiting if !self.job.is_busy() => State::Stopped,
            state => state,
        }
    }

    /// Whether it is not at its end.
    pub(super) fn goes_on(&self) -> bool {
        matches!(self.state(), State::Waiting | State::Running)
    }

    pub(super) fn answer(&self) -> Option<Arc<QueryResult>> {
        self.outcome.lock().answer.clone()
    }

    /// Where the statement stands in a text now, if it still does.
    pub(super) fn place(&self, text: &str) -> Option<Range<usize>> {
        let there = self.place..self.place + self.sql.len();
        if text.get(there.clone()) == Some(&self.sql) {
            return Some(there);
        }
        text.find(&self.sql).map(|at| at..at + self.sql.len())
    }

    /// The bytes of a text that a mistake is about, and its first one.
    pub(super) fn wrong(&self, text: &str) -> Option<Range<usize>> {
        let outcome = self.outcome.lock();
        let Some(Failure::Sql(mistake)) = &outcome.failure else { return None };
        let start = self.place(text)?.start;
        let bytes = mistake.place.as_ref()?.bytes.clone();
        Some(start + bytes.start..start + bytes.end)
    }

    /// The view of its rows.
    pub(super) fn rows(&mut self) -> Option<&mut TableView> {
        let answer = self.answer()?;
        if self.view.as_ref().is_none_or(|(shown, _)| !Arc::ptr_eq(shown, &answer)) {
            self.view = Some((answer.clone(), TableView::new(&self.name(), answer)));
        }
        self.view.as_mut().map(|(_, view)| view)
    }
}

/// An engine that knows all open files and the results so far.
pub(super) fn engine(
    task: &Task,
    documents: &[Arc<Document>],
    results: &[(String, Arc<QueryResult>)],
) -> gander::Result<Engine> {
    let folder = |d: &Arc<Document>| d.source.path().and_then(|p| p.parent()).map(PathBuf::from);
    let mut folders: Vec<PathBuf> = documents.iter().filter_map(folder).collect();
    folders.dedup();
    let engine = Engine::new(settings(), folders);
    for document in documents {
        task.check()?;
        // What is no table is left out.
        drop(engine.add_document(task, document).unless_cancelled()?);
    }
    for (name, answer) in results {
        engine.add_table(name, answer.clone());
    }
    Ok(engine)
}

/// Starts the statements, which have these numbers and places.
pub(super) fn start(
    jobs: &Jobs,
    documents: Vec<Arc<Document>>,
    results: Vec<(String, Arc<QueryResult>)>,
    statements: Vec<(u64, String, usize)>,
) -> Vec<Run> {
    let outcomes: Vec<Arc<Mutex<Outcome>>> = statements.iter().map(|_| Arc::default()).collect();
    let work: Vec<(String, String, Arc<Mutex<Outcome>>)> = statements
        .iter()
        .zip(&outcomes)
        .map(|((number, sql, _), outcome)| (format!("result{number}"), sql.clone(), outcome.clone()))
        .collect();
    let first = statements.first().map_or("", |(_, sql, _)| sql.as_str());
    let title: String = first.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(56).collect();
    let path = |document: &Arc<Document>| Some(document.source.path()?.display().to_string());
    let sources: Arc<[String]> = documents.iter().filter_map(path).collect();
    let (woken, job) = (jobs.clone(), Arc::new(Slot::default()));
    job.get(jobs, &(), JobSpec::scan(format!("SQL: {title}")), move |task| {
        let engine = engine(task, &documents, &results).map_err(Failure::from);
        run_all(task, engine, &work, &woken);
        Ok(())
    });
    let one = |((number, sql, place), outcome): ((u64, String, usize), Arc<Mutex<Outcome>>)| Run {
        number,
        sql,
        sources: sources.clone(),
        place,
        nth: 0,
        is_pinned: false,
        outcome,
        job: job.clone(),
        mode: Mode::default(),
        view: None,
        plot: Plotted::default(),
        steps: Steps::default(),
        told: false,
    };
    statements.into_iter().zip(outcomes).map(one).collect()
}

/// Runs statements until one fails; each knows the results of those before it.
fn run_all(
    task: &Task,
    engine: Result<Engine, Failure>,
    work: &[(String, String, Arc<Mutex<Outcome>>)],
    jobs: &Jobs,
) {
    let mut failed = false;
    for (name, sql, outcome) in work {
        if failed {
            outcome.lock().state = State::NotRun;
            continue;
        }
        outcome.lock().state = State::Running;
        let ran = match &engine {
            Err(failure) => Err(failure.clone()),
            Ok(engine) => engine.run(task, sql, |answer| {
                outcome.lock().answer = Some(answer.clone());
                jobs.wake();
            }),
        };
        let problem = |(path, node): (String, Arc<Node>)| Some(node.problem_now()?.in_file(path));
        let named = engine.iter().flat_map(Engine::named_nodes);
        let problems = named.filter_map(problem).collect();
        let mut end = outcome.lock();
        end.problems = problems;
        end.state = match &ran {
            Ok(_) => State::Done,
            Err(Failure::Run(error)) if error.is_cancelled() => State::Stopped,
            Err(_) => State::Failed,
        };
        match (ran, &engine) {
            (Ok(answer), Ok(engine)) => drop(engine.add_table(name, answer)),
            (ran, _) => {
                failed = true;
                end.failure = ran.err().filter(|_| end.state == State::Failed);
            }
        }
        drop(end);
        jobs.wake();
    }
}
