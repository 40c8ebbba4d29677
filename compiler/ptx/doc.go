// Package ptx turns the IR of a kernel into PTX text for CUDA devices.
//
// The text comes straight from the IR's blocks and branches; nothing is
// structured first, because the driver's assembler, which makes machine code of
// the text, wants branches. That assembler also allocates registers and
// schedules, so [Emit] only selects instructions:
//
//   - What an operation becomes is a row of one table (rows.go, convert.go),
//     written as PTX with placeholders for operands and temporaries. A row
//     applies to kinds of type, from an architecture on, and perhaps only to
//     operands of some form. Operations that need more than text, such as the
//     forming of addresses, are listed with the reason.
//   - Every value has a virtual register: bool a predicate, integers up to 32
//     bits a 32-bit register that holds the value extended by its own sign rule,
//     halves a 16-bit register, pointers a 64-bit register for global memory and
//     a 32-bit one for shared and local memory.
//   - Constants become immediate operands, and constant parts of addresses the
//     offset in [register+offset].
//   - Block arguments become moves at the end of the edge, done as if all at
//     once; an edge that needs moves and is one of two gets a place of its own.
//
// The meaning is the IR's, exactly, with three exceptions that CUDA hardware
// makes: the bits of a NaN that arithmetic makes or passes on are not specified;
// an atomic float32 add to global memory flushes denormals; and the order of
// atomic float additions is any.
//
//	t, err := target.Parse("ptx:sm_80")
//	text, err := ptx.Emit(m, t)   // m after the passes
//
// The text names the lowest PTX version that has its instructions. It depends on
// the module and the target only, so it can be hashed and compared.
package ptx
