// Package stream has modules that are fed a sequence piece by piece, as audio and text
// arrive, and give what they can compute so far.
//
// A [Tensor] is a piece, which may be nothing: a step may give nothing until a module has
// seen enough. A [Module] takes a piece, gives a piece, and keeps what it needs for the
// next one until it is reset. [Map] makes one of a function that needs no memory, [Chain]
// connects several, and a [BinOp] brings two streams together whose pieces do not come in
// step.
//
//	var out stream.Tensor
//	for piece := range pieces {
//		out = out.Cat(model.Step(stream.Of(piece)), -1)
//	}
//	y, ok := out.Get()
//
// Errors stick as those of tensors do: a piece may be a tensor that holds an error.
package stream
