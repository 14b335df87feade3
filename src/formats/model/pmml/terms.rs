//! The names of PMML's elements, and what each of them is to the tree: <https://dmg.org/pmml/v4-4-1/pmml-4-4.xsd>.

/// The elements that are models, those of early versions and those in other models included.
const MODELS: &[&str] = &[
    "AnomalyDetectionModel",
    "AssociationModel",
    "BaselineModel",
    "BayesianNetworkModel",
    "ClusteringModel",
    "GaussianProcessModel",
    "GeneralRegressionModel",
    "MiningModel",
    "NaiveBayesModel",
    "NearestNeighborModel",
    "NeuralNetwork",
    "RegressionModel",
    "RuleSetModel",
    "Scorecard",
    "SequenceModel",
    "SupportVectorMachineModel",
    "TextModel",
    "TimeSeriesModel",
    "TreeModel",
];

/// Elements that hold parts or rows: the outline goes into them.
const CONTAINERS: &[&str] = &[
    "BaseCumHazardTables",
    "BayesInput",
    "BayesInputs",
    "BayesOutput",
    "BayesianNetworkNodes",
    "Characteristic",
    "Characteristics",
    "Coefficients",
    "CovariateList",
    "DataDictionary",
    "EventValues",
    "FactorList",
    "InlineTable",
    "InstanceFields",
    "KNNInputs",
    "MiningSchema",
    "ModelVerification",
    "NeuralInputs",
    "NeuralLayer",
    "NeuralOutputs",
    "Output",
    "PCovMatrix",
    "PPMatrix",
    "ParamMatrix",
    "ParameterList",
    "RegressionTable",
    "RuleSet",
    "Segment",
    "Segmentation",
    "SupportVectorMachine",
    "SupportVectors",
    "TargetValueCounts",
    "TargetValueStats",
    "Targets",
    "TextCorpus",
    "TimeSeries",
    "TrainingInstances",
    "VectorDictionary",
    "VectorFields",
    "VerificationFields",
];

/// Elements that are rows in an element; where they are mixed they are rows of one table, which says what each of them is.
const ROWS: &[(&str, &[&str], bool)] = &[
    ("AssociationModel", &["Item", "Itemset", "AssociationRule"], false),
    ("BaseCumHazardTables", &["BaselineStratum", "BaselineCell"], false),
    ("BayesInput", &["PairCounts"], false),
    ("BayesianNetworkNodes", &["DiscreteNode", "ContinuousNode"], true),
    ("Characteristic", &["Attribute"], false),
    ("ClusteringModel", &["ClusteringField", "Cluster"], false),
    ("Coefficients", &["Coefficient"], false),
    ("CovariateList", &["Predictor"], false),
    ("DataDictionary", &["DataField"], false),
    ("EventValues", &["Value", "Interval"], true),
    ("FactorList", &["Predictor"], false),
    ("InlineTable", &["row"], false),
    ("InstanceFields", &["InstanceField"], false),
    ("KNNInputs", &["KNNInput"], false),
    ("MiningSchema", &["MiningField"], false),
    ("NeuralInputs", &["NeuralInput"], false),
    ("NeuralLayer", &["Neuron"], false),
    ("NeuralOutputs", &["NeuralOutput"], false),
    ("Output", &["OutputField"], false),
    ("PCovMatrix", &["PCovCell"], false),
    ("PPMatrix", &["PPCell"], false),
    ("ParamMatrix", &["PCell"], false),
    ("ParameterList", &["Parameter"], false),
    ("RegressionTable", &["NumericPredictor", "CategoricalPredictor", "PredictorTerm"], true),
    ("RuleSet", &["SimpleRule", "CompoundRule"], true),
    ("SequenceModel", &["Item", "Itemset", "SetPredicate", "Sequence", "SequenceRule"], false),
    ("SupportVectors", &["SupportVector"], false),
    ("TargetValueCounts", &["TargetValueCount"], false),
    ("TargetValueStats", &["TargetValueStat"], false),
    ("Targets", &["Target"], false),
    ("TextCorpus", &["TextDocument"], false),
    ("TimeSeries", &["TimeValue"], false),
    ("VectorDictionary", &["VectorInstance"], false),
    ("VectorFields", &["FieldRef", "CategoricalPredictor"], true),
    ("VerificationFields", &["VerificationField"], false),
];

/// Further elements that stand in the tree by their own names.
const PARTS: &[&str] = &[
    "ARIMA",
    "AntecedentSequence",
    "ARDSquaredExponentialKernel",
    "AbsoluteExponentialKernel",
    "Annotation",
    "Apply",
    "Application",
    "Array",
    "ComparisonMeasure",
    "ComplexPartialScore",
    "CompoundPredicate",
    "CompoundRule",
    "Constant",
    "DecisionTree",
    "DefineFunction",
    "Delimiter",
    "DerivedField",
    "Discretize",
    "DocumentTermMatrix",
    "ExponentialSmoothing",
    "Extension",
    "False",
    "FieldRef",
    "GARCH",
    "GeneralizedExponentialKernel",
    "Header",
    "INT-SparseArray",
    "LinearKernelType",
    "LocalTransformations",
    "MapValues",
    "Matrix",
    "MeanClusterDistances",
    "MiningBuildTask",
    "MissingValueWeights",
    "ModelExplanation",
    "ModelStats",
    "Node",
    "NormContinuous",
    "NormDiscrete",
    "ParameterField",
    "PolynomialKernelType",
    "REAL-SparseArray",
    "RadialBasisKernelType",
    "RadialBasisKernel",
    "Regression",
    "RuleSelectionMethod",
    "ScoreDistribution",
    "SeasonalTrendDecomposition",
    "SigmoidKernelType",
    "SimplePredicate",
    "SimpleSetPredicate",
    "SpectralAnalysis",
    "StateSpaceModel",
    "TableLocator",
    "Taxonomy",
    "TestDistributions",
    "TextDictionary",
    "TextModelNormalization",
    "TextModelSimiliarity",
    "Time",
    "Timestamp",
    "TransformationDictionary",
    "True",
    "VerificationField",
];

/// What an element is to the element that it lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It has a node, and what lies in it has as well.
    Container,
    /// It is a row of the table of this name.
    Row(&'static str),
    /// It has a node, and is parsed when somebody looks into it.
    Part,
}

/// Whether this is a model.
pub(super) fn is_model(name: &str) -> bool {
    MODELS.contains(&name)
}

/// What an element of this name is in one of that name. Names are without prefixes.
pub(super) fn role(parent: &str, name: &str) -> Role {
    let rows = ROWS.iter().find(|(known, ..)| *known == parent);
    if let Some((_, names, is_mixed)) = rows
        && let Some(row) = names.iter().find(|row| **row == name)
    {
        return Role::Row(if *is_mixed { MIXED } else { row });
    }
    if is_model(name) || CONTAINERS.contains(&name) { Role::Container } else { Role::Part }
}

/// Whether elements of this name are rows of tables of several names.
pub(super) fn is_mixed_row(name: &str) -> bool {
    ROWS.iter().any(|(_, names, is_mixed)| *is_mixed && names.contains(&name))
}

/// The table of rows of several names.
pub(super) const MIXED: &str = "rows";

/// The word for an element; its name for those of the specification.
pub(super) fn label(name: &str) -> &'static str {
    let rows = ROWS.iter().flat_map(|(_, names, _)| names.iter());
    let mut known = MODELS.iter().chain(CONTAINERS).chain(PARTS).chain(rows);
    known.find(|known| **known == name).copied().unwrap_or(match name {
        MIXED => MIXED,
        _ => "element",
    })
}

/// The column of a row that elements of this name in it go to: predicates and expressions are one each.
pub(super) fn column(row: &str, name: &str) -> String {
    let name = match (row, name) {
        ("DataField", "Value") => "values",
        ("DataField", "Interval") => "intervals",
        _ if is_predicate(name) => "predicate",
        ("row", _) => name,
        _ if is_expression(name) => "expression",
        _ => name,
    };
    name.to_owned()
}

/// Whether this is a predicate.
pub(super) fn is_predicate(name: &str) -> bool {
    ["SimplePredicate", "CompoundPredicate", "SimpleSetPredicate", "True", "False"].contains(&name)
}

/// Whether this is an expression.
pub(super) fn is_expression(name: &str) -> bool {
    let known = [
        "Constant",
        "FieldRef",
        "NormContinuous",
        "NormDiscrete",
        "Discretize",
        "MapValues",
        "TextIndex",
        "Apply",
        "Aggregate",
        "Lag",
    ];
    known.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_roles_and_words() {
        assert_eq!(role("PMML", "TreeModel"), Role::Container);
        assert_eq!(role("TreeModel", "Node"), Role::Part);
        assert_eq!(role("MiningSchema", "MiningField"), Role::Row("MiningField"));
        assert_eq!(role("RegressionTable", "PredictorTerm"), Role::Row(MIXED));
        assert_eq!((label("Scorecard"), label("X-Own"), label("PCell")), ("Scorecard", "element", "PCell"));
        assert_eq!(column("Node", "True"), "predicate");
        assert_eq!(column("row", "Apply"), "Apply");
    }
}
