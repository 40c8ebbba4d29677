package ir

// WrittenParams reports, by parameter of f, whether f may write to the memory
// that it points to. A pointer that has several sources may be any of
// them.
func WrittenParams(f *Func) []bool {
	out := make([]bool, len(f.Params))
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			if !v.Op.Has(Writes) || len(v.Args) == 0 || !v.Args[0].Type.IsPtr() || v.Args[0].Type.Space != Global {
				continue
			}
			p := v.Args[0]
			for range f.NumValues() { // code that nothing reaches may compute a pointer from itself
				if p.Op != OpIndex && p.Op != OpOffset && p.Op != OpField {
					break
				}
				p = p.Args[0]
			}
			if p.Op == OpParam {
				out[p.Imm] = true
				continue
			}
			for i, q := range f.Params {
				out[i] = out[i] || q.Type.IsPtr()
			}
		}
	}
	return out
}
