package kernels

// Placeholders are the type arguments of prototypes: a prototype is the instance of a generic
// kernel or function that says which of its parameters are of which type parameter. They differ
// from each other and from all types that a kernel takes besides.
type (
	T float32 // the elements of operands
	O float32 // the elements of the result, where they are of another type
	C float32 // what is computed in
	I int32   // indices
	M uint32  // masks
	K uint32  // keys
)
