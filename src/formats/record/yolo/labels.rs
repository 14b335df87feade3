//! The lines of a text: `class x y …`.

use super::Description;
use crate::engines::annotations::Object;

/// Objects of one picture that are taken.
const MOST: usize = 100_000;

/// The objects of a text, and the first thing that is wrong with it.
pub(super) fn objects(text: &str, description: &Description) -> (Vec<Object>, Option<String>) {
    let (mut objects, mut problem) = (Vec::new(), None);
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        if objects.len() >= MOST {
            problem.get_or_insert_with(|| format!("only the first {MOST} objects are shown"));
            break;
        }
        match object(line, description) {
            Ok(object) => objects.push(object),
            Err(what) => drop(problem.get_or_insert_with(|| format!("line {}: {what}", n + 1))),
        }
    }
    (objects, problem)
}

fn object(line: &str, description: &Description) -> Result<Object, String> {
    let mut words = line.split_whitespace();
    let class = words.next().unwrap_or_default();
    // Some programs write it as a float.
    let class = class.parse::<i64>().ok().or_else(|| class.strip_suffix(".0")?.parse().ok());
    let class = class.ok_or_else(|| "the number of a class is expected".to_owned())?;
    let numbers: Option<Vec<f64>> =
        words.map(|word| word.parse().ok().filter(|n: &f64| n.is_finite())).collect();
    let numbers = numbers.ok_or_else(|| "something is no number".to_owned())?;
    let category =
        usize::try_from(class).ok().and_then(|n| description.names.get(n)).filter(|name| !name.is_empty());
    let mut object = Object { category_id: Some(class), category: category.cloned(), ..Object::default() };
    if object.category.is_none() {
        object.category = Some(class.to_string());
    }
    if let Some((count, each)) = description.key_points {
        let end = 4 + count * each;
        // A prediction ends with how sure it is.
        if numbers.len() == end || numbers.len() == end + 1 {
            object.bbox = numbers.get(..4).and_then(|sides| sides.try_into().ok());
            object.key_points = points(numbers.get(4..end).unwrap_or_default(), each);
            object.note = numbers.get(end).map(f64::to_string);
            return Ok(object);
        }
    }
    match numbers.len() {
        4 => object.bbox = numbers.try_into().ok(),
        5 => {
            object.note = numbers.get(4).map(f64::to_string);
            object.bbox = numbers.get(..4).and_then(|sides| sides.try_into().ok());
        }
        // Three points and more are an outline; four may be the corners of a turned box.
        count if count >= 6 && count % 2 == 0 => {
            object.bbox = Some(around(&numbers));
            object.segmentation = vec![numbers];
        }
        count => return Err(format!("{count} numbers are neither a box nor an outline")),
    }
    Ok(object)
}

/// x, y and whether it is there, of each point.
fn points(numbers: &[f64], each: usize) -> Vec<f64> {
    let point = |point: &[f64]| match *point {
        [x, y, seen] => [x, y, seen],
        [x, y] => [x, y, if x == 0.0 && y == 0.0 { 0.0 } else { 2.0 }],
        _ => [0.0; 3],
    };
    numbers.chunks(each).flat_map(point).collect()
}

/// The box around points: its middle, width and height.
fn around(points: &[f64]) -> [f64; 4] {
    let ends = |side: usize| {
        let all = points.iter().skip(side).step_by(2);
        all.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(*value), high.max(*value)))
    };
    let ((left, right), (top, bottom)) = (ends(0), ends(1));
    [(left + right) / 2.0, (top + bottom) / 2.0, right - left, bottom - top]
}
