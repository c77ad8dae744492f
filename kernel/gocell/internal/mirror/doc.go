// Package mirror makes the types that cells declare at run time, as the
// compiler would have made them: [Types] maps the checker's types to reflect
// types.
//
// Start with [New] and Types.Type. Package rtype knows the layout of type
// descriptors. Types.Adopt decides which types stay the same when a cell runs
// again.
package mirror
