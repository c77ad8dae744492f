// Package syntax makes syntax trees: the statements and expressions that
// rewrites put into a cell, at one position each.
//
// Start with [At]. It knows no types.
package syntax
