use super::*;
use crate::data::cell;
use crate::data::content::Table;
use std::fs;

fn open_path(path: &Path) -> (&'static str, Arc<Node>) {
    let document = crate::formats::open(&Task::new(), path, &Options::default()).unwrap();
    (document.format.id, document.root)
}

fn root(name: &str) -> Arc<Node> {
    let path = format!("{}/fixtures/training_run/{name}", env!("CARGO_MANIFEST_DIR"));
    let (id, root) = open_path(path.as_ref());
    assert_eq!(id, "training_run", "{name}");
    root
}

fn at(root: &Arc<Node>, path: &str) -> Arc<Node> {
    root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("{path}"))
}

fn rows(node: &Node) -> Vec<Vec<String>> {
    let Some(Content::Table(table)) = &node.content else { panic!("{} is no table", node.name) };
    let table: &Arc<dyn Table> = table;
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let count = table.count(&Task::new()).unwrap();
    let batch = table.read(&Task::new(), 0..count, &columns).unwrap();
    let row = |row: usize| batch.columns().iter().map(|c| cell::text(c, row).unwrap_or_default()).collect();
    (0..batch.num_rows()).map(row).collect()
}

fn names(node: &Arc<Node>) -> Vec<String> {
    node.child_page(&Task::new(), 0..100).unwrap().iter().map(|node| node.name.clone()).collect()
}

#[test]
fn the_output_of_a_trainer() {
    let root = root("trainer");
    let parts = ["checkpoints", "log_history", "trainer_state", "scalars", "tags", "events", "model"];
    assert_eq!(names(&root), parts);
    let checkpoints = rows(&at(&root, "/checkpoints"));
    let facts: Vec<Vec<String>> = checkpoints.into_iter().map(|row| row[..4].to_vec()).collect();
    assert_eq!(facts, [["checkpoint-50", "50", "0.5", "3"], ["checkpoint-100", "100", "1.0", "3"]]);
    let Some(Content::Array(weights)) = &at(&root, "/checkpoints/checkpoint-50/linear.weight").content else {
        panic!()
    };
    assert_eq!(weights.shape(), [3, 2]);
    let log = rows(&at(&root, "/log_history"));
    assert_eq!(log.len(), 5);
    assert_eq!(log[0][..4], ["0.25", "1.5", "0.0001", "0.04"]);
    // Both files are one run, one behind the other.
    let scalars = rows(&at(&root, "/scalars"));
    assert_eq!(scalars.len(), 23);
    assert_eq!(scalars[22][..4], ["eval/loss", "100", "1700000300.0", "300.0"]);
    assert_eq!(rows(&at(&root, "/scalars/train/loss")).len(), 11);
    assert!(at(&root, "/model/linear.weight").content.is_some());
    assert_eq!(names(&at(&root, "/model")), ["linear", "config.json"]);
}

#[test]
fn runs_are_compared() {
    let root = root("lightning_logs");
    assert_eq!(names(&root), ["scalars", "hparams", "runs", "files"]);
    let scalars = rows(&at(&root, "/scalars"));
    assert_eq!(scalars.len(), 12);
    assert_eq!(scalars[0][..3], ["version_0", "loss", "0"]);
    assert_eq!(scalars[11][..3], ["version_1", "only/1", "20"]);
    assert_eq!(names(&at(&root, "/scalars")), ["loss", "only/0", "only/1"]);
    let loss = rows(&at(&root, "/scalars/loss"));
    assert_eq!((loss.len(), &*loss[3][0], &*loss[3][4]), (6, "version_1", "0.0"));
    let hparams = rows(&at(&root, "/hparams"));
    assert_eq!(hparams[1], ["version_1", "2023-11-14T22:13:21Z", "0.01", "true", "adam"]);
    assert_eq!(rows(&at(&root, "/runs/version_1/scalars/only/1")).len(), 3);
    assert_eq!(names(&at(&root, "/files")), ["version_0/hparams.yaml", "version_1/hparams.yaml"]);
}

#[test]
fn a_run_that_was_begun_again() {
    let root = root("restarted");
    let scalars = rows(&at(&root, "/scalars/loss"));
    let steps: Vec<&str> = scalars.iter().map(|row| row[1].as_str()).collect();
    assert_eq!(steps, ["0", "10", "20", "30", "30", "40", "50"]);
    let checkpoints = rows(&at(&root, "/checkpoints"));
    assert_eq!(checkpoints.iter().map(|row| row[1].as_str()).collect::<Vec<_>>(), ["10", "20", "100"]);
}

#[test]
fn without_event_files_the_trainers_log_has_the_scalars() {
    let root = root("state_only");
    assert_eq!(names(&root), ["checkpoints", "scalars", "log_history", "trainer_state"]);
    let scalars = rows(&at(&root, "/scalars"));
    assert_eq!(scalars.len(), 8);
    assert_eq!(scalars[0], ["grad_norm", "25", "", "", "1.5"]);
    assert_eq!(scalars[6], ["eval_loss", "50", "", "", "0.04"]);
}

#[test]
fn what_is_broken_is_said() {
    let events = root("malformed/events_broken");
    assert!(
        events.remarks_now().iter().any(|remark| remark.contains("it is empty")),
        "{:?}",
        events.remarks_now()
    );
    assert!(events.problem_now().is_some());
    assert!(rows(&at(&events, "/scalars")).len() < 3);
    let state = root("malformed/state_broken");
    assert!(at(&state, "/trainer_state").problem.is_some());
    assert!(at(&state, "/log_history").problem.is_some());
    assert_eq!(rows(&at(&state, "/checkpoints"))[0][..2], ["checkpoint-5", "5"]);
    let log = at(&root("malformed/state_without_log"), "/log_history");
    assert_eq!(log.remarks, ["the trainer logged nothing"]);
}

/// What a folder with these entries opens as, and the names of its checkpoints.
fn laid_out(paths: &[&str]) -> (&'static str, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    for path in paths {
        let path = run.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "some text\n").unwrap();
    }
    let (id, root) = open_path(&run);
    let found = root.find(&Task::new(), "/checkpoints").unwrap();
    let checkpoints = found.map_or_else(Vec::new, |node| {
        rows(&node).into_iter().map(|row| format!("{} {} {}", row[0], row[1], row[2])).collect()
    });
    (id, checkpoints)
}

#[test]
fn checkpoints_of_many_writers() {
    let lightning = [
        "hparams.yaml",
        "checkpoints/epoch=1-step=20.ckpt",
        "checkpoints/epoch=0-step=9.ckpt",
        "checkpoints/last.ckpt",
    ];
    let below: Vec<String> =
        lightning.iter().map(|path| format!("lightning_logs/version_0/{path}")).collect();
    let below: Vec<&str> = below.iter().map(String::as_str).collect();
    // Without event files a folder of logs is a folder.
    assert_eq!(laid_out(&below).0, "folder");
    assert_eq!(
        laid_out(&["epoch=1-step=20.ckpt", "epoch=0-step=9.ckpt", "last.ckpt"]),
        (
            "training_run",
            vec![
                "epoch=0-step=9.ckpt 9 0.0".into(),
                "epoch=1-step=20.ckpt 20 1.0".into(),
                "last.ckpt  ".into()
            ]
        )
    );
    assert_eq!(
        laid_out(&[
            "global_step8/mp_rank_00_model_states.pt",
            "global_step16/a.pt",
            "latest",
            "zero_to_fp32.py"
        ]),
        ("training_run", vec!["global_step8 8 ".into(), "global_step16 16 ".into()])
    );
    assert_eq!(
        laid_out(&["latest_checkpointed_iteration.txt", "iter_0000010/mp_rank_00/model.pt"]),
        ("training_run", vec!["iter_0000010 10 ".into()])
    );
    let tensorflow = [
        "checkpoint",
        "ckpt-1.index",
        "ckpt-1.data-00000-of-00001",
        "ckpt-12.index",
        "ckpt-12.data-00000-of-00001",
        // Without it, it is a folder of checkpoints alone.
        "logs/notes.txt",
    ];
    assert_eq!(laid_out(&tensorflow), ("training_run", vec!["ckpt-1 1 ".into(), "ckpt-12 12 ".into()]));
    assert_eq!(
        laid_out(&["model_epoch_1.pth", "model_epoch_2.pth", "args.yaml"]),
        ("training_run", vec!["model_epoch_1.pth  1.0".into(), "model_epoch_2.pth  2.0".into()])
    );
    assert_eq!(laid_out(&["epoch_1/a.txt", "step_2/a.txt"]).0, "folder");
    assert_eq!(laid_out(&["model_v1.pth", "notes.txt"]).0, "folder");
    assert_eq!(laid_out(&["checkpoint-5/a.txt", "model-00001-of-00002.bin"]).1, ["checkpoint-5 5 "]);
}

#[test]
fn numbers_behind_words() {
    use checkpoints::number_after;
    assert_eq!(number_after("epoch=3-step=500.ckpt", "step"), Some(500));
    assert_eq!(number_after("epoch=3-step=500.ckpt", "epoch"), Some(3));
    assert_eq!(number_after("timestep_5.pt", "step"), None);
    assert_eq!(number_after("timestep_5_step7.pt", "step"), Some(7));
    assert_eq!(number_after("step.pt", "step"), None);
    assert_eq!(number_after("step99999999999999999999.pt", "step"), None);
    assert_eq!(number_after("Stépé-step-4", "step"), Some(4));
}

#[test]
fn folders_of_runs_of_any_name_are_one_document() {
    let fixture = format!("{}/fixtures/training_run/restarted", env!("CARGO_MANIFEST_DIR"));
    let file = fs::read_dir(fixture).unwrap().flatten().map(|entry| entry.path());
    let file = file.into_iter().find(|path| path.to_string_lossy().contains("tfevents")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let made = |path: &str| {
        let to = folder.path().join(path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(&file, to).unwrap();
    };
    fs::create_dir_all(folder.path().join("all/plain/deeper/deepest")).unwrap();
    assert_eq!(open_path(&folder.path().join("all")).0, "folder");
    made("all/lr_0.001/events.out.tfevents.1.host");
    made("all/big/train/events.out.tfevents.1.host");
    let (id, runs) = open_path(&folder.path().join("all"));
    assert_eq!(id, "training_run");
    assert_eq!(names(&at(&runs, "/runs")), ["big/train", "lr_0.001"]);
    // Partitions of a table are no runs.
    made("table/year=2020/events.out.tfevents.1.host");
    assert_ne!(open_path(&folder.path().join("table")).0, "training_run");
}
