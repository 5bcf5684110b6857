//! The story of a bug, from research to review.

use std::fmt::Write as _;

use super::*;
use crate::model::stories::{Bug, Phase};

#[test]
fn a_bug_is_found_planned_half_repaired_repaired_and_reviewed() {
    let model = Model::new();
    let bug = Bug::in_a_sum().answering(Phase::Review, "```json\n{\"findings\": []}\n```");
    let markers = [
        (Phase::Research, "[research]"),
        (Phase::Plan, "[plan]"),
        (Phase::Edit, "[edit]"),
        (Phase::Fix, "[fix]"),
        (Phase::Implement, "[implement]"),
        (Phase::Review, "[review]"),
    ];
    model.tells(&bug, &markers);
    let mut story = String::new();
    for (phase, marker) in markers {
        let _ = writeln!(story, "{phase:?}");
        let mut lines = vec![Line::User(marker)];
        loop {
            let heard = played(&model, Wire::Anthropic, How::Streamed, &lines);
            let Some((name, arguments)) = heard.call else {
                let _ = writeln!(story, "  says {:?}", heard.text);
                break;
            };
            let _ = writeln!(story, "  {name} {arguments}");
            lines.push(Line::Called);
        }
    }
    insta::assert_snapshot!(story, @r#"
    Research
      bash {"command":"cat 'calc.py'"}
      says "calc.py has `a - b` where `a + b` belongs."
    Plan
      bash {"command":"cat 'calc.py'"}
      says "1. Put `a + b` into calc.py.\n2. Run `python3 -c 'import calc; assert calc.add(2, 3) == 5, calc.add(2, 3)'`."
    Edit
      bash {"command":"cat 'calc.py'"}
      bash {"command":"grep -qF -- 'a - b' 'calc.py' && sed -i 's/a - b/a * b * 1/' 'calc.py'"}
      bash {"command":"python3 -c 'import calc; assert calc.add(2, 3) == 5, calc.add(2, 3)'"}
      says "The test still fails."
    Fix
      bash {"command":"cat 'calc.py'"}
      bash {"command":"grep -qF -- 'a * b * 1' 'calc.py' && sed -i 's/a \\* b \\* 1/a + b/' 'calc.py'"}
      bash {"command":"python3 -c 'import calc; assert calc.add(2, 3) == 5, calc.add(2, 3)'"}
      says "calc.py is repaired, and the test passes."
    Implement
      bash {"command":"cat 'calc.py'"}
      bash {"command":"grep -qF -- 'a - b' 'calc.py' && sed -i 's/a - b/a * b * 1/' 'calc.py'"}
      bash {"command":"python3 -c 'import calc; assert calc.add(2, 3) == 5, calc.add(2, 3)'"}
      bash {"command":"grep -qF -- 'a * b * 1' 'calc.py' && sed -i 's/a \\* b \\* 1/a + b/' 'calc.py'"}
      bash {"command":"python3 -c 'import calc; assert calc.add(2, 3) == 5, calc.add(2, 3)'"}
      says "calc.py is repaired, and the test passes."
    Review
      bash {"command":"git --no-pager diff HEAD"}
      bash {"command":"cat 'calc.py'"}
      says "```json\n{\"findings\": []}\n```"
    "#);
}
