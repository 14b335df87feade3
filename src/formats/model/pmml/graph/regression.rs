//! Regressions: a node an equation, with its terms, and what makes one result of them.
//! <https://dmg.org/pmml/v4-4-1/Regression.html>, <https://dmg.org/pmml/v4-4-1/GeneralRegression.html>

use super::{GraphBuilder, about};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::graph::{Attribute, Port};
use crate::engines::xml::Element;
use crate::formats::model::pmml::{Document, terms, texts};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Terms of an equation that stand in an attribute of its node.
const TERMS: usize = 1_000;

/// The equations of a regression: a node each, that takes the fields of its terms, and what normalises them.
pub(super) fn draw(task: &Task, document: &Document, model: u32, made: &mut GraphBuilder) -> Result<()> {
    let below = document.entry(model).map_or(&[][..], |entry| &entry.below);
    let tables: Vec<u32> =
        below.iter().copied().filter(|below| document.name(*below) == "RegressionTable").collect();
    let method = document.attribute(model, "normalizationMethod").unwrap_or("none").to_owned();
    // One equation without more is the model.
    let is_plain = tables.len() == 1 && method == "none";
    let mut results = Vec::new();
    for (n, table) in tables.iter().enumerate() {
        task.check()?;
        let attributes = document.entry(*table).map_or(&[][..], |entry| &entry.attributes);
        let mut about = about(attributes, &[]);
        let rows = document.rows(task, *table, terms::MIXED)?;
        let (mut inputs, mut terms): (Vec<Port>, Vec<String>) = (Vec::new(), Vec::new());
        for row in &rows {
            terms.push(term(row));
            let fields = row.attribute("name").into_iter().filter(|_| row.local_name() != "PredictorTerm");
            for field in fields.chain(row.all("FieldRef").filter_map(|field| field.attribute("field"))) {
                let port = Port::of(made.field(field)?);
                if !inputs.iter().any(|known| known.value == port.value) {
                    inputs.push(port);
                }
            }
        }
        about.push(("terms".into(), Attribute::Texts(cut(terms))));
        let name =
            document.attribute(*table, "targetCategory").map_or_else(|| (n + 1).to_string(), str::to_owned);
        let result = if is_plain { made.target()? } else { made.between(&name)? };
        results.push(Port::of(result));
        made.node("RegressionTable", &name, (inputs, Some(result)), about)?;
    }
    if is_plain {
        return Ok(());
    }
    let target = made.target()?;
    made.node(&method, "", (results, Some(target)), Vec::new())
}

/// A term of a regression: `-2.1 · age^2`.
fn term(row: &Element) -> String {
    let of = |name: &str| row.attribute(name).unwrap_or_default();
    let fields: Vec<&str> = row.all("FieldRef").filter_map(|field| field.attribute("field")).collect();
    match row.local_name() {
        "NumericPredictor" if !["", "1"].contains(&of("exponent")) => {
            format!("{} · {}^{}", of("coefficient"), of("name"), of("exponent"))
        }
        "NumericPredictor" => format!("{} · {}", of("coefficient"), of("name")),
        "CategoricalPredictor" => format!("{} · ({} = {})", of("coefficient"), of("name"), of("value")),
        _ => format!("{} · {}", of("coefficient"), fields.join(" · ")),
    }
}

/// A parameter of a general regression: the product of covariates, to their powers, and of factors that have a value.
#[derive(Default)]
struct Parameter {
    fields: Vec<Arc<str>>,
    product: String,
}

/// Characters of a product.
const PRODUCT: usize = 200;

/// The linear predictors of a general regression, one a target category, and the model that takes them through its link
/// function.
pub(super) fn draw_general(
    task: &Task,
    document: &Document,
    model: u32,
    made: &mut GraphBuilder,
) -> Result<()> {
    let rows = |list: &str, of: &str| match document.child(model, list) {
        Some(list) => document.rows(task, list, of),
        None => Ok(Vec::new()),
    };
    let covariates = rows("CovariateList", "Predictor")?;
    let covariates: HashSet<&str> = covariates.iter().filter_map(|row| row.attribute("name")).collect();
    let mut parameters: HashMap<String, Parameter> = HashMap::new();
    for cell in rows("PPMatrix", "PPCell")? {
        task.check()?;
        let of = |name: &str| cell.attribute(name).unwrap_or_default();
        let (name, value) = (of("predictorName"), of("value"));
        let parameter = parameters.entry(of("parameterName").to_owned()).or_default();
        parameter.fields.push(name.into());
        let factor = match (covariates.contains(name), value) {
            (true, "1" | "") => name.to_owned(),
            (true, power) => format!("{name}^{power}"),
            (false, value) => format!("({name} = {value})"),
        };
        // Every category may repeat it.
        if parameter.product.len() < PRODUCT {
            parameter.product.push_str(&format!(" · {}", texts::short(&factor)));
        }
    }
    let mut equations: Vec<Equation> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for cell in rows("ParamMatrix", "PCell")? {
        task.check()?;
        let category = cell.attribute("targetCategory").unwrap_or_default().to_owned();
        let place = *places.entry(category.clone()).or_insert(equations.len());
        if place == equations.len() {
            equations.push(Equation { category, ..Equation::default() });
        }
        let parameter = cell.attribute("parameterName").and_then(|name| parameters.get(name));
        if let Some(equation) = equations.get_mut(place) {
            equation.add(cell.attribute("beta").unwrap_or_default(), parameter);
        }
    }
    let mut results = Vec::new();
    for equation in equations {
        task.check()?;
        let result = made.between(&equation.category)?;
        results.push(Port::of(result));
        let mut inputs = Vec::new();
        for field in &equation.fields {
            inputs.push(Port::of(made.field(field)?));
        }
        let mut said = equation.terms;
        if equation.more > 0 {
            said.push(format!("… {} more", equation.more));
        }
        let terms = ("terms".into(), Attribute::Texts(said));
        made.node("linear predictor", &equation.category, (inputs, Some(result)), vec![terms])?;
    }
    let own = document.entry(model).map_or(&[][..], |entry| &entry.attributes);
    for name in ["offsetVariable", "trialsVariable", "startTimeVariable", "endTimeVariable", "statusVariable"]
    {
        if let Some(field) = document.attribute(model, name) {
            results.push(Port { name: name.into(), ..Port::of(made.field(field)?) });
        }
    }
    let operator = document.attribute(model, "modelType").unwrap_or("regression").to_owned();
    let target = made.target()?;
    made.node(&operator, "", (results, Some(target)), about(own, &["modelType", "functionName", "modelName"]))
}

/// The equation of a target category.
#[derive(Default)]
struct Equation {
    category: String,
    /// The first [`TERMS`] of them.
    terms: Vec<String>,
    /// How many further ones there are.
    more: usize,
    fields: Vec<Arc<str>>,
    seen: HashSet<Arc<str>>,
}

impl Equation {
    fn add(&mut self, beta: &str, parameter: Option<&Parameter>) {
        // One that is of no predictor is the intercept.
        if self.terms.len() < TERMS {
            self.terms.push(format!("{beta}{}", parameter.map_or("", |parameter| &parameter.product)));
        } else {
            self.more += 1;
        }
        for field in parameter.map_or(&[][..], |parameter| &parameter.fields) {
            if self.seen.insert(field.clone()) {
                self.fields.push(field.clone());
            }
        }
    }
}

/// Terms as far as they stand in an attribute.
fn cut(mut terms: Vec<String>) -> Vec<String> {
    if terms.len() > TERMS {
        let more = terms.len() - TERMS;
        terms.truncate(TERMS);
        terms.push(format!("… {more} more"));
    }
    terms
}
