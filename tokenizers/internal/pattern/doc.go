// Package pattern matches the regular expressions of tokenizers, which are
// written for Oniguruma: with lookahead, possessive repetition and the classes
// of Unicode, none of which package regexp has all of.
//
// A pattern is compiled to a graph of nodes that is walked with backtracking.
// Runs of one class, which published patterns consist of, are loops over bytes
// with a table for ASCII and pages of bits for the rest. Which alternatives can
// start with a byte is known beforehand. Every call has a budget of steps in
// proportion to its text, so a pattern that backtracks without end is an error
// and not a hang. What the package has no meaning for, such as references to
// groups, is refused by name when a pattern is compiled.
//
//	p, err := pattern.Compile(`\p{N}{1,3}|\s+(?!\S)`)
//	ends, err := p.Find(dst[:0], text) // start and end of each match
package pattern
