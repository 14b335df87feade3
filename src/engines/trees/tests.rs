use super::*;
use arrow::array::{AsArray, UInt8Array};
use arrow::datatypes::{DataType, Field, Schema, UInt8Type};
use proptest::prelude::*;

/// A tree is a byte that says how many follow, which are its rows; a zero ends them.
struct Counted(SchemaRef);

impl Trees for Counted {
    fn schema(&self) -> &SchemaRef {
        &self.0
    }

    fn next(&self, window: &mut Window, at: u64) -> Result<Option<(Range<u64>, u64)>> {
        let count = match window.get(at, 1)?.first() {
            None | Some(0) => return Ok(None),
            Some(255) => return Err(Error::malformed("tree: a bad one")),
            Some(count) => u64::from(*count),
        };
        Ok(Some((at..at + 1 + count, count)))
    }

    fn read(&self, task: &Task, source: &Source, tree: &Tree) -> Result<Vec<ArrayRef>> {
        let bytes = source.read(task, tree.span.start + 1..tree.span.end)?;
        Ok(vec![Arc::new(UInt8Array::from(bytes.to_vec()))])
    }

    fn draw(&self, task: &Task, _source: &Source, tree: &Tree) -> Result<TreeGraph> {
        drawing::draw(task, format!("tree {}", tree.number), vec![(0, 0)], |_| {
            let name = format!("{} from {}", tree.rows, tree.first);
            Ok(drawing::Step { name, ..drawing::Step::default() })
        })
    }
}

fn forest(bytes: Vec<u8>, promised: Option<u64>) -> Arc<Forest<Counted>> {
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::UInt8, false)]));
    Forest::new(Source::memory("x", bytes), 0, promised, Counted(schema))
}

#[test]
fn a_broken_tree_ends_the_rows_and_is_told() {
    let task = Task::new();
    let broken = forest(vec![2, 5, 6, 255, 1], None);
    assert_eq!(broken.count(&task).unwrap(), 2);
    assert!(broken.problem().unwrap().message().contains("a bad one"));
    let short = forest(vec![1, 9, 0], Some(3));
    assert_eq!(short.read(&task, 0..9, &[0]).unwrap().num_rows(), 1);
    assert!(short.problem().unwrap().message().contains("3 are promised"));
}

/// Trees are known as far as somebody asked; each is found by its number.
#[test]
fn trees_lie_below_their_table() {
    let task = Task::new();
    let node = Arc::new(Forest::node(&forest(vec![1, 0xaa, 2, 1, 1, 1, 7, 0], Some(3))));
    assert_eq!(node.child_count(), None);
    let third = node.find(&task, "2").unwrap().unwrap().resolved(&task).unwrap();
    let Some(Content::Graph(graph)) = &third.content else { panic!("no graph") };
    assert_eq!(graph.nodes()[0].name.as_ref(), "1 from 3");
    for name in ["3", "01", "-1", "x", "99999999999999999999"] {
        assert!(node.find(&task, name).unwrap().is_none(), "{name}");
    }
    let names = |range| -> Vec<String> {
        node.child_page(&task, range).unwrap().iter().map(|child| child.name.clone()).collect()
    };
    assert_eq!((names(0..2), names(1..9)), (vec!["0".into(), "1".into()], vec!["1".into(), "2".into()]));
    assert_eq!(node.child_count(), Some(3));
}

#[test]
fn circles_and_strangers_are_no_trees() {
    let tree = |children: &'static [Option<[usize; 2]>]| reachable(children.len(), |n| Ok(children[n]));
    assert_eq!(tree(&[Some([1, 2]), None, None]).unwrap(), [(0, 0), (2, 1), (1, 1)]);
    assert!(tree(&[Some([0, 1]), None]).is_err());
    assert!(tree(&[Some([1, 7]), None]).is_err());
    assert!(tree(&[]).is_err());
}

proptest! {
    #[test]
    fn any_range_is_that_of_all_rows(trees in prop::collection::vec(prop::collection::vec(1u8..250, 1..9), 0..40),
                                     start in 0u64..200, len in 0u64..200) {
        let all: Vec<u8> = trees.iter().flatten().copied().collect();
        let bytes = trees.iter().flat_map(|tree| std::iter::once(tree.len() as u8).chain(tree.iter().copied()));
        let forest = forest(bytes.collect(), Some(trees.len() as u64));
        let batch = forest.read(&Task::new(), start..start + len, &[0]).unwrap();
        let got = batch.column(0).as_primitive::<UInt8Type>().values().to_vec();
        let want: Vec<u8> = all.iter().skip(start as usize).take(len as usize).copied().collect();
        prop_assert_eq!(got, want);
        prop_assert_eq!(forest.count(&Task::new()).unwrap(), all.len() as u64);
        prop_assert_eq!(forest.problem(), None);
    }
}
