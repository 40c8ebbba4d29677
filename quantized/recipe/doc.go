// Package recipe has the mixtures of quantized types that models are published in, such as Q4_K_M,
// by the names and rules of llama.cpp: which type each tensor of a model becomes.
//
//	r, err := recipe.Parse("Q4_K_M")
//	m := recipe.Model{Architecture: "llama", Layers: 32, Heads: 32, KVHeads: 8}
//	types, changed := r.Plan(m, tensors)
//
// A recipe has one type for most tensors, and rows of a table for the others, by what a tensor is
// for and where in the model it is: tensors of which little depends get fewer bits, those of the
// first and last layers more. Tensors of fewer than two dimensions, norms and the like stay as they
// are.
package recipe
