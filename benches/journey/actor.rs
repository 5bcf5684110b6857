//! Who works: a program without a model that mends the sum, as an agent of ours and as what a person starts by hand.
//!
//! It does next to nothing, so that what is measured is the house around it.

/// Its name, as tasks ask for it.
pub const NAME: &str = "mender";

/// The program. Its first words come at once, as those of a person's own program do.
pub const PROGRAM: &str = r#"read -r task
echo "I am here to $LAMP_MODE."
answer() { printf '%s' "$1" > "$LAMP_ANSWER"; }
case "$LAMP_MODE" in
  research) answer '{"notes": "sum.py subtracts"}' ;;
  plan) answer '{"plan": {"summary": "Add instead of subtracting", "files": [{"path": "sum.py", "why": "it subtracts"}], "tests": [], "expected_behaviour": "add(2, 3) is 5", "commands": ["make test"], "hosts": [], "risks": []}}' ;;
  implement) sed -i 's/a - b/a + b/' sum.py ;;
  review) answer '{"review": {"findings": []}}' ;;
esac
"#;

/// What it is started for, in the order of a task.
pub const MODES: [&str; 4] = ["research", "plan", "implement", "review"];

/// Its file, beside `lamp.yaml`.
pub fn file() -> String {
    let program = PROGRAM.trim_end().replace('\n', "\n    ");
    format!(
        "lamp: {{ version: 1, name: {NAME} }}\nagent:\n  driver: command\n  command: |\n    {program}\n\
         sandbox: {{ repositories: [{{ name: any }}] }}\n"
    )
}
