//! The stable codes of what can be wrong with a workflow file. A code never changes its meaning.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! codes {
    ($($name:ident $text:literal $title:literal,)*) => {
        /// What is wrong; each code has a page in `docs/errors`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code { $(#[doc = $title] $name,)* }

        impl Code {
            /// All codes, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The code as printed, such as `WF0025`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// What it means, in one line.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            /// The page that explains it.
            #[must_use]
            pub fn page(self) -> &'static str {
                match self {
                    $(Self::$name => include_str!(concat!("../../../docs/errors/", $text, ".md")),)*
                }
            }
        }
    };
}

codes! {
    NotYaml "WF0001" "The file is not YAML",
    TooLarge "WF0002" "The file is larger or deeper than a workflow may be",
    UnsupportedYaml "WF0003" "Something of YAML that workflow files do not use",
    DuplicateKey "WF0004" "A key stands twice in one map",
    UnknownField "WF0010" "A field that does not exist",
    MissingField "WF0011" "A required field is missing",
    WrongType "WF0012" "A value of the wrong type",
    UnknownValue "WF0013" "A word that is not one of the allowed ones",
    OutOfRange "WF0014" "A number outside its range",
    WrongLength "WF0015" "A text or list that is too short or too long",
    WrongPattern "WF0016" "A text that does not have the needed form",
    NodesOrStages "WF0020" "A workflow has either nodes or stages",
    NodeName "WF0021" "A name that a node may not have",
    TooManyNodes "WF0022" "More nodes than a workflow may have",
    StartCount "WF0023" "A workflow has exactly one start",
    NoEnd "WF0024" "A workflow has at least one end",
    UnknownNode "WF0025" "A node that does not exist",
    BadTarget "WF0026" "A node cannot lead to itself or back to the start",
    DuplicateTarget "WF0027" "A node is named twice in one list",
    DeadEnd "WF0028" "A node leads nowhere",
    Unreachable "WF0029" "A node can never be reached",
    Cycle "WF0030" "Nodes wait for each other in a circle",
    EndHasSuccessor "WF0031" "A node waits for an end",
    NothingToJoin "WF0032" "A `fan_in` has nothing to join",
    BranchKind "WF0040" "A branch needs exactly one of `condition`, `when` and `default`",
    NoDefault "WF0041" "A conditional has no default branch",
    DefaultNotLast "WF0042" "The default branch is not the last one",
    ConditionField "WF0043" "`condition_field` and `condition` belong together",
    BadCondition "WF0044" "A condition that cannot be read",
    FieldNeeded "WF0050" "`concat` and `sum` need the field to join",
    FieldsClash "WF0051" "Fields that do not go together",
    RetryDelays "WF0052" "The longest delay is shorter than the first",
    BadSource "WF0053" "The source of a `fan_out` is no list and no number",
    UnknownHandler "WF0060" "A handler that does not exist",
    UnknownParam "WF0061" "A parameter that the handler does not take",
    MissingParam "WF0062" "A required parameter is missing",
    ParamType "WF0063" "A parameter of the wrong type",
    ParamValue "WF0064" "A parameter value that the handler does not accept",
    ParamSet "WF0065" "None of the handler's sets of parameters is complete",
    InputName "WF0070" "A name that an input may not have",
    BadDefault "WF0071" "A default that its own input would refuse",
    InputContradiction "WF0072" "Rules of an input that contradict each other",
    RuleForType "WF0073" "A rule that does not suit the type of the input",
    BadRegex "WF0074" "A pattern that is no regular expression",
    BadExpression "WF0080" "A template or condition that cannot be read",
    UnknownName "WF0081" "A name that templates do not know",
    UndeclaredInput "WF0082" "A template reads an input that is not declared",
    OptionalInput "WF0083" "A template reads an optional input without a default",
    UnknownNodeRead "WF0084" "A template reads a node that does not exist",
    NotUpstream "WF0085" "A template reads a node that has not run before",
    UndeclaredOutput "WF0086" "A template reads something that the node does not return",
    MaySkip "WF0087" "A template reads a node that may not have run",
    TypeMismatch "WF0088" "A template gives a value of another type than is needed",
    NameNotHere "WF0089" "A name that has no meaning at this place",
    StageNumbers "WF0090" "Stages are numbered 1, 2, 3 without gaps",
    StageNames "WF0091" "Two stages have the same name",
    StageOrder "WF0092" "A stage depends on a stage that does not come before it",
    StageFields "WF0093" "Fields of a stage that do not suit its parallelism",
    TooManyProblems "WF0099" "More problems than are shown",
}

impl Code {
    /// Finds a code by its text, in any case.
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        let same = |code: &&Self| code.as_str().eq_ignore_ascii_case(text.trim());
        Self::ALL.iter().find(same).copied()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
