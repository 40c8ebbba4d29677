// Package grammar constrains what a language model generates: to texts of a regular expression, of
// a grammar in the form GBNF of llama.cpp, or of JSON that fits a schema.
//
// A [Grammar] is rules over bytes of UTF-8. A [Constraint] follows it for one sequence: the places in
// the rules where the text so far can be are a state, and a token is allowed if its bytes lead from
// there to another. States and what bytes lead to are kept once they are found, as of a deterministic
// automaton that is made lazily, for all sequences of a grammar.
//
//	g, err := grammar.JSONSchema(schema)
//	v, err := grammar.NewVocabulary(tokenizer, eos, logits)
//	o := generate.Options{Constraint: g.Constrain(v)}
//
// Grammars come from outside: their size, the places of a state and the states that are kept are
// bounded. What cannot be followed, such as a rule that begins with itself, is an error.
package grammar
