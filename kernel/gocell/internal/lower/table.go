package lower

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/syntax"
)

// A pass is one walk over a declaration or over the statements of a cell.
type pass int

const (
	statements  pass = iota // splits statements and operands, which have the types of the source
	expressions             // then rewrites types, names, calls and constants
	passes      = iota
)

// A rewrite replaces Go that the interpreter lacks, or runs otherwise than the
// compiler, by Go that it runs alike.
type rewrite struct {
	name          string
	does          string
	why           string // the interpreter's fault, or another reason
	before, after string // an example in one line; generated names begin with ˑ
	order         string // why it stands where it does; "" if it may stand elsewhere in its pass

	// whole rewrites a declaration, or the statements of a cell, as a whole,
	// before the passes.
	whole func(l *lowerer, n ast.Node) ast.Node
	// older rewrites what stands in a file of a fetched package, as a whole.
	older func(l *lowerer, n ast.Node, file *check.FetchedFile) ast.Node
	// enter and leave are the steps at nodes in the passes.
	passes       []pass
	enter, leave []action
	// top rewrites a statement at the top level of a cell, after the passes. It
	// reports whether it does; last says that the cell ends with the statement.
	top func(l *lowerer, s ast.Stmt, last bool) ([]ast.Stmt, bool)
}

var (
	inStatements  = []pass{statements}
	inExpressions = []pass{expressions}
)

// tableOrder is the table as the walk uses it.
var tableOrder = newOrder(table, "")

// table holds the rewrites in order. At one node the actions of an earlier row
// come first, both when the walk enters the node and when it leaves it; what is
// below the node is rewritten in between. Where a row must stand before or after
// another one it says so under order.
//
// A new row needs a file in testdata/rewrites, see golden_test.go.
var table = []rewrite{
	// Whole declarations.
	{
		name:   "share-loop-vars",
		does:   "declares loop variables before the loop, in packages for Go before 1.22",
		why:    "yaegi gives each round its own variables, as Go 1.22 does",
		before: "for i := 0; i < 3; i++ { fs = append(fs, func() int { return i }) }",
		after:  "{ i := 0; for ; i < 3; i++ { fs = append(fs, func() int { return i }) } }",
		order:  "first, as split-for would give each round its own variables",
		older:  (*lowerer).shareLoopVars,
	},
	{
		name:   "stop-at-statements",
		does:   "puts a call before each statement, with a number and the variables in scope, while a client debugs",
		why:    "package vm puts a step in its place that stops the cell at a breakpoint; the interpreter's own debugger misses some and hangs",
		before: "x := 1; f(x)",
		after:  "ˑrt.At(1); x := 1; ˑrt.At(2, x); f(x)",
		order:  "before all that renames variables or rewrites statements",
		whole:  (*lowerer).stopAtStatements,
	},
	{
		name:   "method-to-func",
		does:   "turns a method of a cell's type into a function whose first parameter is the receiver",
		why:    "yaegi attaches methods to types of its own, and the types here are made at run time; these call the function",
		before: "func (p P) Sum() int { return p.x }",
		after:  "func ˑf1_Sum(p P) int { return p.x }",
		order:  "before name-blank-params, which names a blank receiver as well",
		whole:  (*lowerer).methodToFunc,
	},
	{
		name:   "mangle-predeclared",
		does:   "renames identifiers of a cell that shadow predeclared ones",
		why:    "other rewrites generate len, new or string and mean the predeclared ones; yaegi refuses len as a value",
		before: "len := 3; print(len)",
		after:  "lenˑ := 3; print(lenˑ)",
		order:  "before all rewrites that generate a predeclared identifier",
		whole:  (*lowerer).manglePredeclared,
	},

	// Statements, and operands of expressions.
	{
		name:   "type-interface-nils",
		does:   "converts nil to the interface type, with methods, that it is assigned to",
		why:    "yaegi cannot make a nil of an interface type that it does not know from compiled code: it panics with a nil dereference",
		before: "var s Shape = nil",
		after:  "var s Shape = Shape(nil)",
		order:  "on the way in, while the operands still have the types of the source",
		passes: inStatements,
		enter: []action{inPlace((*lowerer).nilsAssigned), inPlace((*lowerer).nilsDeclared), inPlace((*lowerer).nilsReturned),
			inPlace((*lowerer).nilSent), inPlace((*lowerer).nilKey), inPlace((*lowerer).nilElements)},
	},
	{
		name:   "name-blank-params",
		does:   "names blank parameters and results",
		why:    "yaegi keeps one variable, of one type, for all blanks of a function",
		before: "func f(_ int, _ string) {}",
		after:  "func f(ˑt1 int, ˑt2 string) {}",
		passes: inStatements,
		enter: []action{inPlace(func(l *lowerer, x *ast.FuncDecl) { l.nameBlankParams(x.Type) }),
			inPlace(func(l *lowerer, x *ast.FuncLit) { l.nameBlankParams(x.Type) })},
	},
	{
		name:   "enclose-shadowed-loop-var",
		does:   "puts a loop's body into a block if it defines a variable with the name of a loop variable",
		why:    "yaegi takes the two for one variable",
		before: "for i := range 3 { i := i; f(i) }",
		after:  "for i := range 3 { { i := i; f(i) } }",
		order:  "before all rewrites that insert statements into the body",
		passes: inStatements,
		enter: []action{inPlace(func(l *lowerer, x *ast.RangeStmt) {
			if x.Tok == token.DEFINE {
				encloseShadowing(x.Body, x.Key, x.Value)
			}
		})},
		leave: []action{inPlace(func(l *lowerer, x *ast.ForStmt) {
			if a, ok := x.Init.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
				encloseShadowing(x.Body, a.Lhs...)
			}
		})},
	},
	{
		name:   "slice-range-array",
		does:   "ranges over a slice of the array that a pointer points to, if the values are used",
		why:    "yaegi panics if the pointer is to an array of a compiled type, and ranges over a copy otherwise",
		before: "for i, v := range &a { a[1] = i; f(v) }",
		after:  "for i, v := range a[:] { a[1] = i; f(v) }",
		order:  "before range-array-length, which is for loops without values",
		passes: inStatements,
		enter:  []action{inPlace((*lowerer).sliceRangeArray)},
	},
	{
		name:   "drop-blank-range-vars",
		does:   "drops blank loop variables that are not needed",
		why:    "yaegi keeps one variable, of one type, for all blanks of a function",
		before: "for i, _ := range \"abc\" { f(i) }",
		after:  "for i := range \"abc\" { f(i) }",
		passes: inStatements,
		enter: []action{inPlace(func(l *lowerer, x *ast.RangeStmt) {
			if isBlank(x.Value) {
				x.Value = nil
			}
			if isBlank(x.Key) && x.Value == nil {
				x.Key, x.Tok = nil, token.ILLEGAL
			}
		})},
	},
	{
		name:   "assign-range-places",
		does:   "lets a loop define temporary variables and assigns them in its body, if one loop variable is an operand of the other",
		why:    "yaegi finds both destinations before it assigns the first",
		before: "for i, x[i] = range y { f(x) }",
		after:  "for ˑt1, ˑt2 := range y { i, x[i] = ˑt1, ˑt2; { f(x) } }",
		order:  "on the way in, so that split-parallel-assign rewrites the assignment as a statement of the body",
		passes: inStatements,
		enter:  []action{inPlace((*lowerer).assignRangePlaces)},
	},
	{
		name:   "zero-results",
		does:   "assigns zero to the named results at the start of a function",
		why:    "yaegi starts with the values in the caller's destination, where a call stores its results straight into variables",
		before: "func f() (n int) { n++; return }",
		after:  "func f() (n int) { n = 0; n++; return }",
		order:  "after name-blank-params: a blank result is none that a statement can name",
		passes: inStatements,
		leave: []action{inPlace(func(l *lowerer, x *ast.FuncDecl) {
			if x.Body != nil {
				l.zeroResults(x.Type, x.Body)
			}
		}), inPlace(func(l *lowerer, x *ast.FuncLit) { l.zeroResults(x.Type, x.Body) })},
	},
	{
		name:   "claim-recover",
		does:   "asks the kernel for the deferred call that the function was called by, and recovers its panic",
		why:    "yaegi decides by the place in the source which function may recover",
		before: "func f() { fmt.Print(recover()) }",
		after:  "func f() { ˑdeferral := ˑrt.Deferred(); fmt.Print(ˑrt.Recover(ˑdeferral)) }",
		order:  "after zero-results, since the claim must be the function's first call",
		passes: inStatements,
		leave: []action{at((*lowerer).recoverCall),
			inPlace(func(l *lowerer, x *ast.FuncDecl) { l.claimDeferral(x.Body) }),
			inPlace(func(l *lowerer, x *ast.FuncLit) { l.claimDeferral(x.Body) })},
	},
	{
		name:   "fill-empty-loop",
		does:   "inserts a statement into an empty loop body",
		why:    "yaegi goes on at the wrong node after an empty body",
		before: "for range ch { }",
		after:  "for range ch { _ = 0 }",
		order:  "before the loops themselves are rewritten",
		passes: inStatements,
		leave: []action{inPlace(func(l *lowerer, x *ast.RangeStmt) {
			if l.rangeOver(x) != nil {
				fillEmpty(x.Body)
			}
		}), inPlace(func(l *lowerer, x *ast.ForStmt) { fillEmpty(x.Body) })},
	},
	{
		name:   "range-func-to-call",
		does:   "rewrites a range over a function to a call with the loop's body as a function literal",
		why:    "yaegi lacks range over functions",
		before: "for v := range seq { f(v) }",
		after:  "{ ˑt1, ˑt2 := 0, 0; seq(func(v int) bool { ...; { f(v) }; ˑt1 = 0; return true }); ... }",
		order:  "on the way out: what an inner loop leaves behind becomes a statement of the outer body",
		passes: inStatements,
		leave:  []action{at((*lowerer).rangeFuncStmt)},
	},
	{
		name:   "range-chan-to-for",
		does:   "rewrites a range over a channel to a loop that receives",
		why:    "yaegi keeps one variable for all rounds, so closures and pointers see the last value",
		before: "for v := range ch { f(v) }",
		after:  "for ˑt1 := ch; ; { ˑt2, ˑt3 := <-ˑt1; if !ˑt3 { break }; v := ˑt2; { f(v) } }",
		passes: inStatements,
		leave:  []action{block((*lowerer).rangeChanStmt)},
	},
	{
		name:   "range-array-length",
		does:   "counts to the length of an array that a pointer points to, if no values are used",
		why:    "yaegi dereferences the pointer, which may be nil",
		before: "for i := range p { f(i) }",
		after:  "for i, ˑt1 := 0, 3; i < ˑt1; i++ { { f(i) } }",
		order:  "before range-chan-elements and name-blank-range-key, which are for loops that read elements",
		passes: inStatements,
		leave:  []action{block((*lowerer).rangeLengthStmt)},
	},
	{
		name:   "range-chan-elements",
		does:   "reads elements that are channels by index",
		why:    "yaegi takes a range over a slice, array or map of channels for a range over a channel",
		before: "for _, c := range chans { f(c) }",
		after:  "{ ˑt1 := chans; for ˑt2 := range ˑt1 { c := ˑt1[ˑt2]; { f(c) } } }",
		passes: inStatements,
		leave:  []action{block((*lowerer).rangeChanElements)},
	},
	{
		name:   "range-string-runes",
		does:   "ranges over runes that the kernel has decoded",
		why:    "yaegi counts wrong in invalid UTF-8",
		before: "for i, r := range s { f(i, r) }",
		after:  "{ ˑt1, ˑt2 := ˑrt.Runes(string(s)); for ˑt3 := range ˑt2 { i := ˑt1[ˑt3]; r := ˑt2[ˑt3]; { f(i, r) } } }",
		passes: inStatements,
		leave:  []action{at((*lowerer).rangeStringStmt)},
	},
	{
		name:   "range-int-to-for",
		does:   "rewrites a range over an integer to a loop that counts",
		why:    "yaegi's compiler fails ('nil type') if the integer is not an int",
		before: "for i := range n { f(i) }",
		after:  "for i, ˑt1 := int(0), int(n); i < ˑt1; i++ { { f(i) } }",
		order:  "rewritten here completely: split-for does not see the new loop, as the walk has passed it",
		passes: inStatements,
		leave:  []action{block((*lowerer).rangeIntStmt)},
	},
	{
		name:   "add-to-uintptr",
		does:   "adds one to a uintptr by +=, or subtracts it by -=",
		why:    "yaegi's ++ and -- do not know the type, and end the function",
		before: "p++",
		after:  "p += 1",
		passes: inStatements,
		leave:  []action{swap((*lowerer).addToUintptr)},
	},
	{
		name:   "name-blank-range-key",
		does:   "names a blank key beside a value",
		why:    "yaegi keeps one variable, of one type, for all blanks of a function",
		before: "for _, v := range m { f(v) }",
		after:  "for ˑt1, v := range m { f(v) }",
		order:  "after the rewrites of other kinds of ranges",
		passes: inStatements,
		leave:  []action{inPlace((*lowerer).nameBlankRangeKey)},
	},
	{
		name:   "define-range-temps",
		does:   "lets a loop define temporary variables and assigns them in its body",
		why:    "yaegi takes for i = range x for i := range x",
		before: "for i = range x { f() }",
		after:  "for ˑt1 := range x { i = ˑt1; { f() } }",
		order:  "after name-blank-range-key",
		passes: inStatements,
		leave:  []action{inPlace((*lowerer).rangeAssignStmt)},
	},
	{
		name:   "move-label",
		does:   "moves a label into the block that a rewrite has put around its statement",
		why:    "break and continue mean the loop, not the block",
		before: "L: { i := 0; for ; i < 3; i++ { break L } }",
		after:  "{ i := 0; L: for ; i < 3; i++ { break L } }",
		order:  "in both passes, as both enclose statements",
		passes: []pass{statements, expressions},
		leave:  []action{at((*lowerer).moveLabel)},
	},
	{
		name:   "split-for",
		does:   "moves the init statement in front of a loop, and gives each round its own variables if closures or pointers keep them",
		why:    "yaegi executes the init statement in each round, or copies its variables so that the post statement changes the old ones",
		before: "for i := 0; i < 3; i++ { f(i) }",
		after:  "{ i := 0; for ; i < 3; i++ { f(i) } }",
		order:  "after enclose-shadowed-loop-var and fill-empty-loop, which look at the body as it was",
		passes: inStatements,
		leave:  []action{block((*lowerer).splitFor)},
	},
	{
		name:   "split-select",
		does:   "splits a select statement: the select chooses a clause, a switch executes it",
		why:    "yaegi lacks break in a select",
		before: "select { case v := <-ch: f(v) }",
		after:  "{ var ˑt1 int; ˑt2 := ch; var ˑt4 int; select { case ˑt3 := <-ˑt2: ˑt1 = 0; ˑt4 = ˑt3 }; switch ˑt1 { case 0: v := ˑt4; f(v) } }",
		passes: inStatements,
		leave:  []action{block((*lowerer).splitSelect)},
	},
	{
		name:   "detach-var-values",
		does:   "puts the value of a var declaration in parentheses, or converts it, if yaegi would store it in the wrong form",
		why:    "yaegi stores the value of a call, receive or literal straight into the variable; closures keep the old one, and a value that becomes an interface is not boxed",
		before: "var x any = -y",
		after:  "var x any = int(-y)",
		passes: inStatements,
		leave:  []action{inPlace((*lowerer).detachDeclared)},
	},
	{
		name:   "name-blank-vars",
		does:   "names blanks in a var declaration with several results, inside functions",
		why:    "yaegi keeps one variable, of one type, for all blanks of a function",
		before: "var _, err = f()",
		after:  "var ˑt1, err = f()",
		order:  "not at top level, where assign-globals turns the declaration into an assignment",
		passes: inStatements,
		leave: []action{at(func(l *lowerer, c *astutil.Cursor, x *ast.DeclStmt) verdict {
			if c.Parent() != l.root {
				l.nameBlankVars(x.Decl.(*ast.GenDecl))
			}
			return goOn
		})},
	},
	{
		name:   "name-blank-targets",
		does:   "defines variables for results that are all discarded",
		why:    "yaegi keeps one variable, of one type, for all blanks of a function",
		before: "_, _ = f()",
		after:  "ˑt1, ˑt2 := f()",
		order:  "before split-tuple-assign, which then sees a definition",
		passes: inStatements,
		leave:  []action{inPlace((*lowerer).nameBlankTargets)},
	},
	{
		name:   "call-before-place",
		does:   "evaluates a value with a call before the element, or the variable behind a pointer, that it is assigned to",
		why:    "yaegi looks for the place first: it panics before the call where it does not exist, and x op= f() finds what was there before",
		before: "s[9] += f()",
		after:  "ˑt1 := f(); s[9] += ˑt1",
		order:  "before detach-assigned-value, which would store the call's result straight",
		passes: inStatements,
		leave:  []action{spread((*lowerer).callBeforePlace)},
	},
	{
		name:   "detach-assigned-value",
		does:   "puts an assigned value in parentheses, or converts it, if yaegi would store it in the wrong form",
		why:    "yaegi stores the value of a call, receive or literal straight into the destination, also where that needs a conversion or is shared with a closure",
		before: "p.x = <-ch",
		after:  "p.x = (<-ch)",
		passes: inStatements,
		leave:  []action{inPlace((*lowerer).detachAssigned)},
	},
	{
		name:   "split-parallel-assign",
		does:   "splits a tuple assignment, if one assignment may panic or changes another's operand",
		why:    "yaegi assigns nothing if one panics, and evaluates operands too late",
		before: "l, l.next = l.next, l",
		after:  "ˑt1 := l; ˑt2 := l.next; ˑt3 := l; l = ˑt2; ˑt1.next = ˑt3",
		passes: inStatements,
		leave:  []action{spread((*lowerer).splitParallel)},
	},
	{
		name:   "split-tuple-assign",
		does:   "assigns a call's results to temporary variables first, if a destination is an element of a map, is shared with a closure or has another type",
		why:    "yaegi skips map elements, replaces shared variables and does not convert",
		before: "m[k], ok = f()",
		after:  "ˑt1 := k; ˑt2, ˑt3 := f(); m[ˑt1] = ˑt2; ok = ˑt3",
		passes: inStatements,
		leave:  []action{spread((*lowerer).splitTuple)},
	},
	{
		name:   "hold-results",
		does:   "evaluates results into variables before return, if one reads a named result that another one sets, or a call's results have other types",
		why:    "yaegi sets results one by one, and does not convert a call's",
		before: "return b, a",
		after:  "{ var ˑt1 int = b; var ˑt2 int = a; return ˑt1, ˑt2 }",
		passes: inStatements,
		leave:  []action{swap((*lowerer).holdResults)},
	},
	{
		name:   "spread-tuple-args",
		does:   "evaluates the arguments of a go or defer statement first, if these are the results of one call",
		why:    "yaegi counts one argument ('not enough arguments in call')",
		before: "defer f(g())",
		after:  "ˑt1, ˑt2 := g(); defer f(ˑt1, ˑt2)",
		order:  "before guard-goroutines and hold-deferred-args, which go by single arguments",
		passes: inStatements,
		leave: []action{at((*lowerer).deferTuple), swap(func(l *lowerer, x *ast.GoStmt) ast.Node {
			if s := l.spreadTuple(x.Call); s != nil {
				return syntax.At(x.Pos()).Block(s, x)
			}
			return nil
		})},
	},
	{
		name:   "hoist-init",
		does:   "moves the init statement out of a switch, and out of an if or type switch if it becomes several statements",
		why:    "after an init statement yaegi ignores the tag of a switch",
		before: "switch x := f(); x { case 1: g() }",
		after:  "{ x := f(); switch x { case 1: g() } }",
		order:  "before untag-switch, whose variable follows the init statement",
		passes: inStatements,
		leave:  []action{inPlace((*lowerer).hoistIfInit), inPlace((*lowerer).hoistTypeSwitchInit), inPlace((*lowerer).hoistSwitchInit)},
	},
	{
		name:   "untag-switch",
		does:   "rewrites cases to conditions, if the tag is an interface or a float, tag and cases differ in type, or a case lists expressions that are not constant",
		why:    "yaegi converts the tag to the type of the case, for which it takes that of an untyped constant or of a value in an interface, and evaluates only the first expression of a list",
		before: "switch x { case nil: f(); case 1: g() }",
		after:  "{ var ˑt1 any = x; switch { case ˑt1 == nil: f(); case ˑt1 == 1: g() } }",
		order:  "before join-case-conditions, which then sees conditions",
		passes: inStatements,
		leave: []action{inPlace(func(l *lowerer, x *ast.SwitchStmt) {
			if l.comparesOtherwise(x) {
				l.hoisted = append(l.hoisted, l.untag(x))
			}
		})},
	},
	{
		name:   "join-case-conditions",
		does:   "joins the conditions of a case by ||",
		why:    "yaegi looks at the first condition only",
		before: "switch { case a, b: f() }",
		after:  "switch { case (a) || (b): f() }",
		passes: inStatements,
		leave: []action{inPlace(func(l *lowerer, x *ast.SwitchStmt) {
			if x.Tag == nil {
				l.joinConditions(x)
			}
		})},
	},
	{
		name:   "order-default",
		does:   "moves default behind the other clauses, or splits a switch with a fallthrough: one switch chooses, a second one executes",
		why:    "yaegi exchanges default with the last clause, which it then asks before those between",
		before: "switch x { default: f(); fallthrough; case 1: g() }",
		after:  "{ var ˑt1 int; switch x { default: ˑt1 = 0; case 1: ˑt1 = 1 }; switch ˑt1 { case 0: f(); fallthrough; case 1: g() } }",
		order:  "after join-case-conditions, since the first switch keeps the conditions",
		passes: inStatements,
		leave:  []action{at((*lowerer).orderDefault)},
	},
	{
		name:   "enclose-hoisted",
		does:   "puts a statement and those that hoist-init and untag-switch have moved out of it into a block",
		why:    "the scope of their variables ends with the statement",
		before: "x := f(); switch x { case 1: g() }",
		after:  "{ x := f(); switch x { case 1: g() } }",
		order:  "after all that hoists",
		passes: inStatements,
		leave:  []action{at(encloseHoisted[*ast.IfStmt]), at(encloseHoisted[*ast.TypeSwitchStmt]), at(encloseHoisted[*ast.SwitchStmt])},
	},
	{
		name:   "unify-compared-types",
		does:   "converts one operand of == or != to the type of the other, if neither is an interface",
		why:    "yaegi compares values of one type only ('mismatched types')",
		before: "named == plain",
		after:  "named == Named(plain)",
		passes: inStatements,
		leave:  []action{inPlace((*lowerer).unifyTypes)},
	},
	{
		name:   "call-left-operand",
		does:   "wraps the left operand of && or || in a call of a function literal",
		why:    "yaegi takes a value that has no node to execute, and is evaluated first, for the condition",
		before: "[]int{1}[0] == 1 && b",
		after:  "func() bool { return []int{1}[0] == 1 }() && b",
		order:  "after unify-compared-types, whose conversions are such values",
		passes: inStatements,
		leave:  []action{inPlace((*lowerer).callLeftOperand)},
	},
	{
		name:   "method-expr-to-func",
		does:   "rewrites a method expression to a function literal",
		why:    "yaegi lacks method expressions of the types made here, and of embedded methods",
		before: "f := P.Sum",
		after:  "f := func(ˑp0 P) int { return ˑf1_Sum(ˑp0) }",
		order:  "before box-converted-operands, which is for methods of values",
		passes: inStatements,
		leave:  []action{swap((*lowerer).methodExprNode)},
	},
	{
		name:   "box-converted-operands",
		does:   "rewrites a conversion to an interface, as an operand, to a call of a function literal",
		why:    "yaegi leaves the value unboxed and treats it as an operand of the other type",
		before: "any(x) == y",
		after:  "func(ˑv any) any { return ˑv }(x) == y",
		order:  "after call-left-operand, which looks for the conversion itself",
		passes: inStatements,
		leave:  []action{inPlace((*lowerer).boxCompared), inPlace((*lowerer).boxSelected), inPlace((*lowerer).boxIndex)},
	},
	{
		name:   "type-shifted-constant",
		does:   "converts a constant that is shifted by a variable amount",
		why:    "yaegi gives it type int",
		before: "var x uint8 = 1 << n",
		after:  "var x uint8 = uint8(1) << n",
		passes: inStatements,
		leave:  []action{inPlace((*lowerer).shiftedConstant)},
	},
	{
		name:   "drop-parens",
		does:   "drops parentheses around a value",
		why:    "yaegi refuses v, ok := (<-ch) ('unsupported assign expression'), and gives others a node of their own, which call-left-operand would have to follow",
		before: "return (a)",
		after:  "return a",
		order:  "on the way out, before other rewrites add parentheses on purpose",
		passes: inStatements,
		leave:  []action{swap((*lowerer).dropParens)},
	},
	{
		name:   "pass-tuple",
		does:   "expands a call whose arguments are the results of another call",
		why:    "yaegi passes them on only to a function with exactly these types; its compiler panics otherwise",
		before: "f(g())",
		after:  "func() R { ˑt1, ˑt2 := g(); return f(ˑt1, ˑt2) }()",
		order:  "after claim-recover, whose calls have one argument",
		passes: inStatements,
		leave:  []action{at((*lowerer).passTuple)},
	},
	{
		name:   "new-of-value",
		does:   "rewrites new(x) of a value to the address of a copy",
		why:    "yaegi's new accepts types only",
		before: "new(3)",
		after:  "func(ˑv int) *int { return &ˑv }(3)",
		passes: inStatements,
		leave:  []action{at((*lowerer).newOfValue)},
	},

	// Types, names, calls and constants.
	{
		name:   "name-types",
		does:   "names types as the interpreter knows them: a cell's by its run-time type",
		why:    "yaegi gives the types of its programs no identity of their own: type A int is an int to reflect and fmt",
		before: "var p P",
		after:  "var p ˑgocell_types.T1",
		order:  "first, and nothing below a type is visited",
		passes: inExpressions,
		enter:  []action{everywhere((*lowerer).nameType)},
	},
	{
		name:   "fold-constants",
		does:   "replaces constant expressions by their values",
		why:    "yaegi computes some otherwise than Go, or gives them another type",
		before: "x := 1<<62 / 3 * 2.0",
		after:  "x := 3074457345618258602.0",
		order:  "after name-types; nothing below the expression is visited",
		passes: inExpressions,
		enter: []action{at(foldAt[*ast.BinaryExpr]), at(foldAt[*ast.UnaryExpr]), at(foldAt[*ast.CallExpr]), at(foldAt[*ast.ParenExpr]),
			at(foldAt[*ast.BasicLit]), at(foldAt[*ast.Ident])},
	},
	{
		name:   "instantiate-generics",
		does:   "names the ordinary function or type that an instance is compiled as",
		why:    "yaegi's generics lack inference, constraints and methods",
		before: "Map[int, string](x, f)",
		after:  "ˑg1_Map(x, f)",
		order:  "before identifiers are looked at, since these would be the generic's",
		passes: inExpressions,
		enter: []action{at(instantiateAt[*ast.IndexExpr]), at(instantiateAt[*ast.IndexListExpr]), at(instantiateAt[*ast.SelectorExpr]),
			at(instantiateAt[*ast.Ident])},
	},
	{
		name:   "write-constants",
		does:   "replaces the values of constant declarations by their results",
		why:    "yaegi computes some otherwise than Go, or forgets their type",
		before: "const ( a E = iota; b )",
		after:  "const ( a E = 0; b E = 1 )",
		passes: inExpressions,
		enter: []action{inPlace(func(l *lowerer, x *ast.GenDecl) {
			if x.Tok == token.CONST {
				l.writeConstants(x)
			}
		})},
	},
	{
		name:   "drop-type-decls",
		does:   "drops type declarations in functions",
		why:    "the types are made at run time, see name-types",
		before: "func f() { type T int; var x T }",
		after:  "func f() { _ = 0; var x ˑgocell_types.T1 }",
		passes: inExpressions,
		enter: []action{at(func(l *lowerer, c *astutil.Cursor, x *ast.DeclStmt) verdict {
			if g, ok := x.Decl.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				c.Replace(noop(x.Pos()))
				return skip
			}
			return goOn
		})},
	},
	{
		name:   "replace-empty-stmt",
		does:   "replaces an empty statement by one without effect",
		why:    "yaegi goes on at the wrong node after it in a clause ('fallthrough statement out of place')",
		before: "switch { case b: ; }",
		after:  "switch { case b: _ = 0 }",
		passes: inExpressions,
		enter:  []action{swap(func(l *lowerer, x *ast.EmptyStmt) ast.Node { return noop(x.Pos()) })},
	},
	{
		name:   "call-unsafe",
		does:   "calls the kernel for conversions from and to unsafe.Pointer, and for functions of package unsafe",
		why:    "yaegi lacks package unsafe",
		before: "unsafe.Pointer(&x)",
		after:  "*(ˑrt.UnsafePointer(0, &x).(*unsafe.Pointer))",
		order:  "before convert-byte-slices, which is for ordinary conversions",
		passes: inExpressions,
		enter:  []action{at((*lowerer).noteUnsafe)},
		leave:  []action{at((*lowerer).unsafeResult)},
	},
	{
		name:   "call-print",
		does:   "calls the kernel for print and println",
		why:    "yaegi prints as package fmt does, to standard output",
		before: "println(x, nil)",
		after:  "ˑrt.Print(true, \"vi\", x, nil)",
		order:  "on the way in, while the arguments still have the types of the source",
		passes: inExpressions,
		enter:  []action{inPlace((*lowerer).callPrint)},
	},
	{
		name:   "unwrap-callee",
		does:   "drops parentheses around a called builtin",
		why:    "yaegi looks for an identifier ('use of builtin copy not in function call')",
		before: "(copy)(a, b)",
		after:  "copy(a, b)",
		order:  "before all rewrites that look at the callee",
		passes: inExpressions,
		enter: []action{inPlace(func(l *lowerer, x *ast.CallExpr) {
			if !l.c.Info.Types[x.Fun].IsType() {
				x.Fun = ast.Unparen(x.Fun)
			}
		})},
	},
	{
		name:   "name-params",
		does:   "names unnamed parameters",
		why:    "yaegi stores the function's first variables in their places",
		before: "func f(int) int { x := 1; return x }",
		after:  "func f(ˑu0 int) int { x := 1; return x }",
		passes: inExpressions,
		enter: []action{inPlace(func(l *lowerer, x *ast.FuncDecl) { nameParams(x.Type) }),
			inPlace(func(l *lowerer, x *ast.FuncLit) { nameParams(x.Type) })},
	},
	{
		name:   "hide-equal-keys",
		does:   "wraps a repeated constant key of a map literal in a call",
		why:    "yaegi refuses equal keys, but an instance of a generic may have them, and constants of different types only look equal as keys of an interface type",
		before: "map[any]int{1: 1, int8(1): 2}",
		after:  "map[any]int{1: 1, func() any { return int8(1) }(): 2}",
		order:  "on the way in, while keys are the constants that the checker saw",
		passes: inExpressions,
		enter:  []action{inPlace((*lowerer).hideEqualKeys)},
	},
	{
		name:   "key-fields",
		does:   "writes the field names of a struct literal",
		why:    "to yaegi the struct belongs to another package ('implicit assignment to unexported field')",
		before: "P{1, 2}",
		after:  "P{x: 1, y: 2}",
		passes: inExpressions,
		enter:  []action{inPlace((*lowerer).keyFields)},
	},
	{
		name:   "index-elements",
		does:   "writes the indices of the elements of a slice or array literal",
		why:    "yaegi asks for the type of an element without an index before it compiles it, and finds none where a value of a compiled type is part of it",
		before: "[]P{p, q}",
		after:  "[]P{0: p, 1: q}",
		passes: inExpressions,
		enter:  []action{inPlace((*lowerer).indexElements)},
	},
	{
		name:   "write-elided-types",
		does:   "writes the type of a composite literal inside another",
		why:    "yaegi looks for it in its own representation of types, which run-time types lack",
		before: "[]P{{1, 2}}",
		after:  "[]P{P{1, 2}}",
		order:  "after the three rows above, which change the elements",
		passes: inExpressions,
		enter:  []action{at((*lowerer).writeElided)},
	},
	{
		name:   "assert-by-number",
		does:   "asks the kernel whether an interface value has a type, which has a number",
		why:    "yaegi compares types by name, and takes a type for any other that it is assignable to",
		before: "x.(P)",
		after:  "*ˑrt.As(0, 1, x).(*P)",
		order:  "the type is noted on the way in, since name-types replaces it below",
		passes: inExpressions,
		enter:  []action{inPlace(func(l *lowerer, x *ast.TypeAssertExpr) { l.operands[x] = x.X })},
		leave:  []action{at((*lowerer).assertByNumber)},
	},
	{
		name:   "switch-by-number",
		does:   "asks the kernel which case of a type switch matches",
		why:    "as assert-by-number",
		before: "switch v := x.(type) { case P: f(v) }",
		after:  "{ var ˑt1 any = x; switch ˑrt.Which(0, ˑt1) { case 0: v := *ˑrt.As(0, 0, ˑt1).(*P); _ = v; f(v) } }",
		order:  "the types are noted on the way in; before the second move-label, which moves labels into the block",
		passes: inExpressions,
		enter:  []action{inPlace((*lowerer).noteSwitchTypes)},
		leave:  []action{at((*lowerer).switchByNumber)},
	},
	{
		name:   "tag-constant-cases",
		does:   "adds the tag true to a switch without one if a case is constant",
		why:    "yaegi takes a constant case to hold",
		before: "switch { case false: f() }",
		after:  "switch true { case false: f() }",
		passes: inExpressions,
		enter:  []action{inPlace((*lowerer).tagConstantCases)},
	},
	{
		name:   "enclose-case-labels",
		does:   "puts the statements of a clause into a block if one has a label",
		why:    "yaegi looks for labels in blocks only",
		before: "case 1: L: for { break L }",
		after:  "case 1: { L: for { break L } }",
		passes: inExpressions,
		enter: []action{inPlace(func(l *lowerer, x *ast.CaseClause) { x.Body = encloseLabels(x.Body) }),
			inPlace(func(l *lowerer, x *ast.CommClause) { x.Body = encloseLabels(x.Body) })},
	},
	{
		name:   "deref-array-pointers",
		does:   "dereferences a pointer to an array that is indexed or sliced",
		why:    "yaegi takes the array for an element if the pointer has a compiled type",
		before: "p[i]",
		after:  "(*p)[i]",
		passes: inExpressions,
		enter: []action{inPlace(func(l *lowerer, x *ast.IndexExpr) { l.derefArray(&x.X) }),
			inPlace(func(l *lowerer, x *ast.SliceExpr) { l.derefArray(&x.X) })},
	},
	{
		name:   "alias-packages",
		does:   "imports packages under generated names, and names declarations of fetched packages as the session does",
		why:    "all cells share one scope, in which a variable may have the name of a package",
		before: "fmt.Println(x)",
		after:  "ˑfmt.Println(x)",
		order:  "before keep-members, which leaves the selected name",
		passes: inExpressions,
		enter:  []action{at((*lowerer).packageSelector)},
	},
	{
		name:   "keep-members",
		does:   "leaves selected identifiers, field keys and identifiers without an object unchanged, and looks up the object of others",
		why:    "the rows below are for identifiers of variables, functions and constants",
		before: "x.ctx",
		after:  "x.ctx",
		order:  "before the rows about identifiers",
		passes: inExpressions,
		enter:  []action{at((*lowerer).keepMember)},
	},
	{
		name:   "call-context",
		does:   "replaces the predeclared ctx by a call",
		why:    "each cell has a context of its own",
		before: "work(ctx)",
		after:  "work(ˑrt.Ctx())",
		passes: inExpressions,
		enter:  []action{at((*lowerer).contextIdent)},
	},
	{
		name:   "read-replaced-globals",
		does:   "reads a variable that the cell replaces by a generated name",
		why:    "yaegi has one variable of a name",
		before: "x := strconv.Itoa(x)",
		after:  "x = ˑstrconv.Itoa(ˑoldx)",
		passes: inExpressions,
		enter:  []action{at((*lowerer).replacedIdent)},
	},
	{
		name:   "mangle-fetched",
		does:   "gives declarations of fetched packages generated names",
		why:    "yaegi runs all of them in its package main",
		before: "func Double(x int) int { return times(x, 2) }",
		after:  "func ˑm3_Double(x int) int { return ˑm3_times(x, 2) }",
		passes: inExpressions,
		enter:  []action{at((*lowerer).fetchedIdent)},
	},
	{
		name:   "call-must",
		does:   "calls the kernel for must of an error alone; with results, must is a generic of the prelude",
		why:    "must is predeclared in cells, not in Go",
		before: "must(f())",
		after:  "ˑrt.Must(f())",
		passes: inExpressions,
		enter:  []action{at((*lowerer).mustIdent)},
	},
	{
		name:   "qualify-dot-imports",
		does:   "qualifies identifiers that a dot import provides",
		why:    "see alias-packages",
		before: "Sqrt(2)",
		after:  "ˑmath.Sqrt(2)",
		order:  "after mangle-fetched: the rest belongs to compiled packages",
		passes: inExpressions,
		enter:  []action{at((*lowerer).dotIdent)},
	},
	{
		name:   "type-nil-results",
		does:   "converts nil that is returned as a function type of a cell",
		why:    "yaegi has no nil of a run-time function type",
		before: "return nil",
		after:  "return F(nil)",
		passes: inExpressions,
		leave:  []action{inPlace((*lowerer).typeNilResults)},
	},
	{
		name:   "type-builtin-results",
		does:   "converts the value of a builtin that is one of several results",
		why:    "yaegi stores it in the place of the first result",
		before: "return x, len(s)",
		after:  "return x, int(len(s))",
		passes: inExpressions,
		leave:  []action{inPlace((*lowerer).typeBuiltinResults)},
	},
	{
		name:   "type-operator-results",
		does:   "converts operators' values that are returned as an interface",
		why:    "yaegi boxes them without a type",
		before: "return -y",
		after:  "return int(-y)",
		passes: inExpressions,
		leave:  []action{inPlace((*lowerer).typeOperatorResults)},
	},
	{
		name:   "type-assigned-nils",
		does:   "converts nils in a tuple assignment",
		why:    "yaegi has no variable to keep an untyped nil in",
		before: "again: p, q = nil, p",
		after:  "again: p, q = (*P)(nil), p",
		order:  "for assignments with a label, which split-parallel-assign leaves; before split-interface-assign",
		passes: inExpressions,
		leave:  []action{inPlace((*lowerer).typeAssignedNils)},
	},
	{
		name:   "split-interface-assign",
		does:   "splits tuple assignments with interface or function operands",
		why:    "yaegi gets them wrong if an operand is read from a variable of a compiled type",
		before: "a, b = b, a",
		after:  "{ var ˑt1 any = b; var ˑt2 any = a; a = ˑt1; b = ˑt2 }",
		passes: inExpressions,
		leave:  []action{at((*lowerer).splitInterfaceAssign)},
	},
	{
		name:   "guard-goroutines",
		does:   "evaluates the operands of a go statement, and has the kernel start the goroutine",
		why:    "a panic of a goroutine would end the kernel",
		before: "go f(x)",
		after:  "{ var ˑt1 int = x; ˑrt.Go(func() { f(ˑt1) }) }",
		passes: inExpressions,
		leave:  []action{at((*lowerer).guardGoroutine)},
	},
	{
		name:   "hold-deferred-args",
		does:   "evaluates the receiver, the function value and the arguments of a deferred call at the defer statement",
		why:    "yaegi reads variables when the call is made, and calls builtins at once",
		before: "defer r.M(x)",
		after:  "ˑt1 := r; ˑt2 := x; defer ˑt1.M(ˑt2)",
		passes: inExpressions,
		leave:  []action{at((*lowerer).holdDeferredArgs)},
	},
	{
		name:   "convert-function-values",
		does:   "converts a declared function that is used as a value to its type",
		why:    "yaegi passes on the node of the declaration, which an interface or a compiled field cannot hold",
		before: "x := f",
		after:  "x := (func(int) int)(f)",
		passes: inExpressions,
		leave: []action{at(func(l *lowerer, c *astutil.Cursor, x *ast.Ident) verdict {
			if y := l.convertFunctionValue(x, l.called(c)); y != x {
				c.Replace(y)
			}
			return goOn
		})},
	},
	{
		name:   "type-sent-channel",
		does:   "converts the channel of a send statement to its type",
		why:    "yaegi does not know the element type of a channel that it reads from a field or from compiled code",
		before: "p.ch <- 1",
		after:  "(chan int)(p.ch) <- 1",
		passes: inExpressions,
		leave:  []action{inPlace((*lowerer).typeSentChannel)},
	},
	{
		name:   "method-value-to-func",
		does:   "rewrites a method value to a function literal that binds the receiver",
		why:    "methods of cells are functions, see method-to-func; yaegi evaluates other receivers when the value is called",
		before: "f := p.Sum",
		after:  "f := func(ˑr P) func() int { return func() int { return ˑf1_Sum(ˑr) } }(p)",
		passes: inExpressions,
		leave: []action{at(func(l *lowerer, c *astutil.Cursor, x *ast.SelectorExpr) verdict {
			l.methodValue(c, x)
			return goOn
		})},
	},
	{
		name:   "guard-waitgroup-go",
		does:   "guards the function that sync.WaitGroup.Go calls",
		why:    "a panic of a goroutine would end the kernel",
		before: "wg.Go(f)",
		after:  "wg.Go(ˑrt.Guarded(f))",
		order:  "before method-call-to-func, which rewrites the selector",
		passes: inExpressions,
		leave:  []action{inPlace((*lowerer).guardWaitGroup)},
	},
	{
		name:   "type-nil-args",
		does:   "converts nil arguments to the parameter type, if a cell declares it or it is an interface with methods",
		why:    "yaegi cannot make a nil of such a type",
		before: "f(nil)",
		after:  "f(Shape(nil))",
		order:  "before box-slice-args, which adds a nil of its own",
		passes: inExpressions,
		leave:  []action{inPlace((*lowerer).typeNilArgs)},
	},
	{
		name:   "box-slice-args",
		does:   "boxes slices among variadic arguments, and passes nil if there are none",
		why:    "yaegi spreads a slice that could be the variadic parameter, and passes an empty slice for no arguments",
		before: "fmt.Println([]int{1})",
		after:  "fmt.Println(func(ˑv any) any { return ˑv }([]int{1}))",
		order:  "before method-call-to-func, which adds an argument",
		passes: inExpressions,
		leave: []action{at(func(l *lowerer, c *astutil.Cursor, x *ast.CallExpr) verdict {
			l.boxSliceArgs(c, x)
			return goOn
		})},
	},
	{
		name:   "method-call-to-func",
		does:   "calls the function of a method, with the receiver as first argument, and writes out the path to embedded fields",
		why:    "see method-to-func",
		before: "p.Sum()",
		after:  "ˑf1_Sum(p)",
		passes: inExpressions,
		leave:  []action{inPlace((*lowerer).methodCall)},
	},
	{
		name:   "gather-appended",
		does:   "appends several elements, or one of the slice's own type, as a slice",
		why:    "yaegi stores the first before it evaluates the second, and spreads an element of the slice's own type",
		before: "append(s, s[1], s[0])",
		after:  "append(s, []int{0: s[1], 1: s[0]}...)",
		order:  "before unname-spread-slice",
		passes: inExpressions,
		leave:  []action{inPlace((*lowerer).gatherAppended)},
	},
	{
		name:   "unname-spread-slice",
		does:   "converts a slice in f(s...) to its underlying type, if its type has a name or it is an argument of a cell's function",
		why:    "yaegi takes it for one argument and panics, also where the slice is the library's, as os.Args",
		before: "f(names...)",
		after:  "f([]string(names)...)",
		passes: inExpressions,
		leave:  []action{inPlace((*lowerer).unnameSpreadSlice)},
	},
	{
		name:   "make-directed-chan",
		does:   "makes a bidirectional channel and converts it",
		why:    "yaegi calls reflect.MakeChan, which panics for others",
		before: "make(<-chan int)",
		after:  "(<-chan int)(make(chan int))",
		passes: inExpressions,
		leave:  []action{builtin("make", (*lowerer).makeDirected)},
	},
	{
		name:   "count-array-pointer",
		does:   "replaces len and cap of a pointer to an array by the length, after the pointer is evaluated",
		why:    "yaegi dereferences the pointer, which may be nil",
		before: "len(p())",
		after:  "func() int { ˑt1 := p(); return 3 }()",
		passes: inExpressions,
		leave:  []action{builtin("len", (*lowerer).countArray), builtin("cap", (*lowerer).countArray)},
	},
	{
		name:   "call-clear",
		does:   "calls the kernel for clear",
		why:    "yaegi lacks clear",
		before: "clear(m)",
		after:  "ˑrt.Clear(m)",
		passes: inExpressions,
		leave: []action{builtin("clear", func(l *lowerer, x *ast.CallExpr) ast.Expr {
			return syntax.Call(l.kernel("Clear", x.Pos()), x.Pos(), x.Args...)
		})},
	},
	{
		name:   "expand-min-max",
		does:   "calls a function of the kernel for min and max",
		why:    "yaegi lacks min and max",
		before: "min(a, b)",
		after:  "ˑrt.Min_int(a, b)",
		passes: inExpressions,
		leave:  []action{builtin("min", minMax("Min")), builtin("max", minMax("Max"))},
	},
	{
		name:   "convert-byte-slices",
		does:   "calls the kernel to convert between strings and slices of named bytes or runes",
		why:    "yaegi knows []byte and []rune only",
		before: "[]Letter(s)",
		after:  "*ˑrt.Letters(0, string(s)).(*[]Letter)",
		order:  "the types are noted on the way in, since name-types replaces them below",
		passes: inExpressions,
		enter:  []action{inPlace((*lowerer).noteConversion)},
		leave: []action{at(func(l *lowerer, c *astutil.Cursor, x *ast.CallExpr) verdict {
			l.convertByteSlice(c, x)
			return goOn
		})},
	},
	{
		name:   "type-constants",
		does:   "converts constants of types that cells declare, and returned ones that exceed an int64",
		why:    "yaegi gives them the basic type, or int",
		before: "f(Red)",
		after:  "f(E(Red))",
		order:  "after the identifiers are rewritten; for any kind of expression",
		passes: inExpressions,
		leave:  []action{everywhere((*lowerer).typeConstants)},
	},
	{
		name:   "compare-named-bools",
		does:   "compares a named bool with a constant as bools",
		why:    "yaegi finds them never equal",
		before: "b == true",
		after:  "bool(b) == true",
		passes: inExpressions,
		leave:  []action{inPlace((*lowerer).compareNamedBool)},
	},
	{
		name:   "convert-named-bools",
		does:   "converts the value of a comparison or logical operation to the named type that the checker gives it",
		why:    "yaegi gives a bool",
		before: "var f Flag = a == b",
		after:  "var f Flag = Flag(a == b)",
		order:  "last: the conversion surrounds what the others leave",
		passes: inExpressions,
		leave:  []action{at(convertNamedBool[*ast.BinaryExpr]), at(convertNamedBool[*ast.UnaryExpr])},
	},

	// The top level of a cell.
	{
		name:   "assign-globals",
		does:   "rewrites definitions of session variables to assignments",
		why:    "session variables are globals, declared beside the function of the statements",
		before: "x := 1; var y int",
		after:  "x = 1; y = *new(int)",
		order:  "after the passes, in which x := 1 is a definition",
		top:    (*lowerer).assignGlobals,
	},
	{
		name:   "discard-last-value",
		does:   "assigns a last expression that ends with a semicolon to the blank identifier",
		why:    "an expression is not a statement",
		before: "x + 1;",
		after:  "_ = x + 1",
		order:  "before show-last-value",
		top:    (*lowerer).discardLast,
	},
	{
		name:   "show-last-value",
		does:   "passes the value of a last expression, or of several, to the kernel, which shows it, or ends the cell with the error that a call returns last",
		why:    "an expression is not a statement",
		before: "nir.Load(file)",
		after:  "ˑrt.Checked(ˑnir.Load(file))",
		top:    (*lowerer).showLast,
	},
}
