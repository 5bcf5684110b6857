//! The functions of the tree, as the compiler would read them: which are tests, and how they end.
//!
//! ```text
//!  #[test], #[tokio::test(..)]       a test
//!  proptest! { #[test] fn .. }       a test
//!  on_both!(..), scenes![..]         make tests of the functions that they name
//! ```

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{
    Attribute, Block, Expr, ExprCall, ExprClosure, ExprIf, ExprMacro, ExprMethodCall, ExprReturn,
    ImplItemFn, ItemFn, ItemMacro, Macro, Signature, Stmt, StmtMacro,
    visit::{self, Visit},
};

use crate::tree::File;

/// Macros that make a test of every function that they are given: `on_both` of the store, `scenes` of the journeys.
const MAKE_TESTS: &[&str] = &["on_both", "scenes"];

/// What was found in one file.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The names of functions that are run as tests.
    pub(crate) tests: BTreeSet<String>,
    /// The names of functions, methods aside, that are called somewhere.
    pub(crate) called: BTreeSet<String>,
    /// `line: what` of tests that end early, and say so to nobody.
    pub(crate) silent: Vec<String>,
}

/// Reads one file, which has to be Rust.
pub(crate) fn find(file: &File) -> Found {
    let parsed = syn::parse_file(&file.text)
        .unwrap_or_else(|error| panic!("{}: this is not Rust: {error}", file.path));
    let mut reader = Reader::default();
    reader.visit_file(&parsed);
    reader.found
}

/// Files without any of these words have no tests, and are many.
pub(crate) fn may_have_tests(file: &File) -> bool {
    ["test", "on_both!", "scenes!"].iter().any(|word| file.text.contains(word))
}

#[derive(Default)]
struct Reader {
    found: Found,
}

impl Reader {
    fn function(&mut self, attributes: &[Attribute], signature: &Signature, block: &Block) {
        if !attributes.iter().any(is_test) {
            return;
        }
        self.found.tests.insert(signature.ident.to_string());
        let mut ends = Ends::default();
        ends.visit_block(block);
        let name = &signature.ident;
        self.found.silent.extend(ends.wrong.iter().map(|wrong| format!("{wrong} in `{name}`")));
    }

    /// Macros have a language of their own; these are known.
    fn macro_call(&mut self, call: &Macro) {
        let Some(name) = call.path.segments.last().map(|segment| segment.ident.to_string()) else {
            return;
        };
        if name == "proptest" {
            property_tests(call.tokens.clone(), &mut self.found.tests);
        } else if MAKE_TESTS.contains(&name.as_str()) {
            named(call.tokens.clone(), &mut self.found.tests);
        } else if (name == "println" || name == "eprintln") && says_unsupported(&call.tokens) {
            let line = call.bang_token.span.start().line;
            self.found.silent.push(format!("{line}: `{name}!` of what `unsupported::part` tells"));
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_fn(&mut self, it: &'ast ItemFn) {
        self.function(&it.attrs, &it.sig, &it.block);
        visit::visit_item_fn(self, it);
    }

    fn visit_impl_item_fn(&mut self, it: &'ast ImplItemFn) {
        self.function(&it.attrs, &it.sig, &it.block);
        visit::visit_impl_item_fn(self, it);
    }

    fn visit_expr_call(&mut self, it: &'ast ExprCall) {
        self.found.called.extend(function(it));
        visit::visit_expr_call(self, it);
    }

    fn visit_item_macro(&mut self, it: &'ast ItemMacro) {
        self.macro_call(&it.mac);
    }

    fn visit_expr_macro(&mut self, it: &'ast ExprMacro) {
        self.macro_call(&it.mac);
    }

    fn visit_stmt_macro(&mut self, it: &'ast StmtMacro) {
        self.macro_call(&it.mac);
    }
}

/// The last name of what is called.
fn function(call: &ExprCall) -> Option<String> {
    let Expr::Path(path) = &*call.func else { return None };
    path.path.segments.last().map(|last| last.ident.to_string())
}

/// `#[test]`, or one of another library that is called so.
fn is_test(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == "test")
}

/// How a test ends before its end. What it spawns, and closures, return to somebody else.
#[derive(Default)]
struct Ends {
    wrong: Vec<String>,
}

impl<'ast> Visit<'ast> for Ends {
    fn visit_expr_return(&mut self, it: &'ast ExprReturn) {
        self.wrong.push(format!("{}: `return`", it.return_token.span.start().line));
    }

    /// What only root asserts is left out for others.
    fn visit_expr_if(&mut self, it: &'ast ExprIf) {
        let mut asks = Asks::default();
        asks.visit_expr(&it.cond);
        if asks.is_root && it.else_branch.is_none() && has_assertion(&it.then_branch) {
            let line = it.if_token.span.start().line;
            self.wrong.push(format!("{line}: assertions for root without an `else`"));
        }
        visit::visit_expr_if(self, it);
    }

    fn visit_expr_method_call(&mut self, it: &'ast ExprMethodCall) {
        if !it.method.to_string().starts_with("spawn") {
            visit::visit_expr_method_call(self, it);
        }
    }

    fn visit_expr_call(&mut self, it: &'ast ExprCall) {
        let spawns = function(it).is_some_and(|name| name.starts_with("spawn"));
        if !spawns {
            visit::visit_expr_call(self, it);
        }
    }

    fn visit_expr_closure(&mut self, _it: &'ast ExprClosure) {}

    fn visit_item_fn(&mut self, _it: &'ast ItemFn) {}
}

#[derive(Default)]
struct Asks {
    is_root: bool,
}

impl<'ast> Visit<'ast> for Asks {
    fn visit_ident(&mut self, it: &'ast proc_macro2::Ident) {
        self.is_root |= it == "is_root";
    }
}

fn has_assertion(block: &Block) -> bool {
    block.stmts.iter().any(|statement| {
        let Stmt::Macro(it) = statement else { return false };
        let last = it.mac.path.segments.last();
        last.is_some_and(|last| last.ident.to_string().starts_with("assert"))
    })
}

/// The functions after `#[test]` in a `proptest!`.
fn property_tests(tokens: TokenStream, tests: &mut BTreeSet<String>) {
    let (mut is_test, mut is_name) = (false, false);
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                is_test |= group.stream().to_string() == "test";
            }
            TokenTree::Ident(word) if is_name => {
                if is_test {
                    tests.insert(word.to_string());
                }
                (is_test, is_name) = (false, false);
            }
            TokenTree::Ident(word) => is_name = word == "fn",
            TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// The last name of each path in a list: `straight::it_works, other::it_does`.
fn named(tokens: TokenStream, names: &mut BTreeSet<String>) {
    let mut last = None;
    for token in tokens {
        match token {
            TokenTree::Ident(word) => last = Some(word.to_string()),
            TokenTree::Punct(mark) if mark.as_char() == ',' => names.extend(last.take()),
            TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    names.extend(last);
}

/// Whether what is printed begins by saying that something is not tried here.
fn says_unsupported(tokens: &TokenStream) -> bool {
    let first = tokens.clone().into_iter().next();
    let first = first.map(|token| token.to_string().to_lowercase()).unwrap_or_default();
    ["\"unsupported", "\"skipped", "\"skipping"].iter().any(|start| first.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Found {
        find(&File { path: "a.rs".to_owned(), text: text.to_owned() })
    }

    #[test]
    fn tests_are_known_from_functions() {
        let found = of("
            fn helper() { called(1); }
            #[test] fn one() {}
            #[tokio::test(flavor = \"multi_thread\")] async fn two() {}
            mod tests { proptest! { #[test] fn three(a in 0..1) {} fn not_four() {} } }
            on_both!(five, six);
            fn all() -> Vec<Scene> { scenes![a::seven, b::eight] }
        ");
        let names: Vec<&str> = found.tests.iter().map(String::as_str).collect();
        assert_eq!(names, ["eight", "five", "one", "seven", "six", "three", "two"]);
        assert!(found.called.contains("called") && !found.called.contains("helper"));
    }

    #[test]
    fn a_test_that_ends_early_is_seen() {
        let wrong = [
            "#[test] fn a() { let Some(x) = y() else { return }; }",
            "#[test] fn a() { if z() { return world.end(); } }",
            "#[test] fn a() { run(async { return; }); }",
            "#[test] fn a() { if geteuid().is_root() { assert!(x); } }",
            "fn helper() { println!(\"unsupported: {why}\"); }",
            "fn helper() { match x { A => eprintln!(\"Skipping\"), B => {} } }",
        ];
        for text in wrong {
            assert_eq!(of(text).silent.len(), 1, "{text}");
        }
        let right = [
            "#[test] fn a() { let x = supported!(y()); unsupported!(\"why\"); }",
            "#[test] fn a() { tasks.spawn(async { return; }); x.map(|_| { return; }); }",
            "#[test] fn a() { if is_root() { assert!(x); } else { assert!(y); } }",
            "#[test] fn a() { if is_root() { command.uid(1); } }",
            "fn helper() { let Some(x) = y() else { return }; println!(\"it is unsupported\"); }",
        ];
        for text in right {
            assert_eq!(of(text).silent, Vec::<String>::new(), "{text}");
        }
    }
}
