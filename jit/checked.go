package jit

import "github.com/gokiln/kiln/compiler/code"

// Checked returns the handle of the same kernel compiled to look for mistakes: what
// Go panics on, which is an index or a bound of a slice out of range, an integer
// division by zero and a shift by a negative count, ends the thread on every device,
// and the next call that waits for the stream returns an error that names the kernel,
// file and line, block, thread and values. On the CPU it finds more, see
// docs/semantics.md.
//
// Checked code is slower; handles that are not checked do not pay for it. With
// KILN_CHECK=1 in the environment all handles are.
func (k *Kernel) Checked() *Kernel {
	if k.checked || k.err != nil {
		return k
	}
	if twin := k.twin.Load(); twin != nil {
		return twin
	}
	k.twin.CompareAndSwap(nil, &Kernel{req: k.req, name: k.name, fn: k.fn, consts: k.consts, checked: true})
	return k.twin.Load()
}

// opts returns what to compile with.
func (r *resolver) opts() code.Options {
	o := r.options
	o.Assume = r.assume
	o.Checked = o.Checked || r.checked
	return o
}
