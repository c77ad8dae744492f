// Package dacelib is the map of the library; its packages are in the folders
// below. Each package's own page says where to start: `?brkga` in a cell, go doc
// elsewhere, and `?brkga.Settings` for what can be set.
//
// # A problem
//
// A problem is a function over {0,1}^d that is maximised.
//
//   - problem: the interface; problem.FromFunc makes one from your function of
//     a []bool, problem.Class draws instances
//   - problem/ccp, problem/cimp, problem/caop, problem/onemax: the paper's
//     problems: contamination control, influence maximisation, compiler
//     arguments, OneMax
//   - problem/classic: benchmark problems of the field, such as knapsack, maximum
//     cut and NK landscapes
//   - problem/problemtest: checks a problem of your own
//
// # Solving it
//
//   - brkga: the genetic algorithm that the paper configures; brkga.Run for one
//     run, brkga.RunAll for many
//   - smartest: the algorithm for compiler arguments that the paper compares
//     with
//   - solver: what all solvers have in common, and solver.FromFunc for one of your
//     own; solver/anneal, solver/ea, solver/eda, solver/ils, solver/linkage and
//     solver/tabu are other published ones
//   - solver/external: programs as solvers, by the conventions of irace and SMAC
//   - solver/solvertest: checks a solver of your own
//   - portfolio: several configurations side by side, the best of which counts;
//     portfolio.Paper has those of the paper
//
// # A portfolio for your problem
//
//   - construct: DACE and the methods it is compared with, from a few training
//     instances; start with construct.DACE and construct.Quick
//   - nir: the neural instance representation, which learns instances from
//     their values and makes new ones; start with nir.Train
//   - pgpe: the search for embeddings of hard instances
//   - smac, forest: the search for configurations, and its random forest
//   - farm: many processes and computers that work for one program
//
// # Results
//
//   - experiment: the paper's tests on unseen instances, its tables, its
//     numbers
//   - stats: Wilcoxon's tests, wins, draws and losses
//   - similarity: instances and NIRs compared: neighbours, groups, maps
//   - landscape: the paper's features of fitness and distance
//   - figure: figures, to look at and to print
//   - frame: tables of data: CSV files, groups, joins
//
// # From a problem to a portfolio
//
// Package run has what all long computations share: they are called with a
// context and end early with it, a Seed determines their random numbers, the
// zero value of their Settings is the paper's choice (but brkga chooses its
// configuration by the budget), and OnEvent receives their progress.
//
//	set, err := ccp.Class().NewSet(1, 5, 15) // 5 instances to learn from, 15 of each size to test on
//	dace, err := construct.DACE(ctx, set.Training, construct.Quick())
//	unseen, err := portfolio.Normalise(ctx, set.Test, 100_000, 1)
//	results, err := dace.Portfolio.Run(ctx, unseen, portfolio.Settings{})
//	portfolio.Means(results)
package dacelib
