package ptx

import "github.com/gokiln/kiln/compiler/ir"

// Memory answers a processor with 32 bytes or more, and neighbours of what it asks for are
// mostly wanted too, by others: a warp that goes down columns takes 64 bytes of each row. Vectors
// of 16 bytes therefore ask L2 for 128 bytes (PTX ISA, ld: .level::prefetch_size).
// What is looked up by an index from memory may be anywhere: it asks for no more than it needs.

// wholeLines is what such loads say, from PTX 7.4 and compute capability 7.5 on.
const wholeLines = ".L2::128B"

// lookedUp returns, by value ID, which values depend on what the kernel reads. It starts from
// the hope that none does, so that counters of loops are covered.
func lookedUp(f *ir.Func, order []*ir.Block) []bool {
	from := make([]bool, f.NumValues())
	for again := true; again; {
		again = false
		mark := func(v *ir.Value, args []*ir.Value) {
			for _, a := range args {
				if from[a.ID] && !from[v.ID] {
					from[v.ID], again = true, true
				}
			}
		}
		for _, b := range order {
			for _, v := range b.Instrs {
				if v.Op.Info().Effect&ir.Reads != 0 && !from[v.ID] {
					from[v.ID], again = true, true
				}
				mark(v, v.Args)
			}
			for _, s := range b.Term.Succs {
				for i, p := range s.To.Params {
					mark(p, s.Args[i:i+1])
				}
			}
		}
	}
	return from
}
