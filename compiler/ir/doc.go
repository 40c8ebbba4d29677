// Package ir is Kiln's intermediate representation of a kernel.
//
// A [Module] holds functions and shared-memory objects. A [Func] is a list of
// basic [Block]s in SSA form with block arguments instead of phi nodes: a jump
// passes values to the parameters of its target, so every value has exactly one
// definition and a pass that moves edges cannot forget a phi operand.
//
// Values are scalars or pointers only. The front end takes structs, slices,
// arrays and multiple results apart into their scalar leaves; what must stay in
// memory (an array indexed by a variable) is a [OpLocal] or [OpShared] object
// reached through typed pointers. Every pointer type names its [Space].
//
// What an operation is (arity, types, purity, convergence) is a row of one
// table, see [Op.Info]. The verifier, the printer, the parser and the passes
// read the table; none of them lists operations by hand.
//
// The text form printed by [Module.String] parses back with [Parse] to the same
// module. It is the format of pass tests, of cached CPU artifacts, and of
// `kiln emit -target ir`:
//
//	module "example.com/k.Scale"
//
//	kernel @Scale(%0: ptr<global,f32>, %1: i64, %2: f32) args(x slice f32 "[]float32", a scalar f32 "float32") {
//	b0:
//	  %3 = block 0 : i64
//	  %4 = blockdim 0 : i64
//	  %5 = mul %3, %4 : i64
//	  %6 = thread 0 : i64
//	  %7 = add %5, %6 : i64
//	  %8 = lt %7, %1 : bool
//	  br %8, b1, b2
//	b1:
//	  %9 = offset %0, %7 : ptr<global,f32>
//	  %10 = load %9 : f32
//	  %11 = mul %10, %2 : f32
//	  store %9, %11
//	  jump b2
//	b2:
//	  ret
//	}
//
// Arithmetic is exact to the last bit, so that no pass may change the rounding of
// floats. The one licence is [Value.Contract]: in kernels marked //kiln:fastmath
// the front end puts it on what their author wrote, and pass contract uses it.
//
// A value may carry a source position, printed as !n and resolved through the
// module's position table. The table is not part of [Module.Text], so that an
// edited comment, which moves lines and nothing else, leaves the text and its
// hash unchanged.
package ir
