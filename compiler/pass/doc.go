// Package pass holds the optimisations that run over a kernel's [ir.Module]
// and the analyses that judge it.
//
// A pass is one file and one row of [Passes]. The row says what the pass does
// and why it stands where it stands; [Constraints] states the order between
// passes as facts that a test compares with the table. [Run] applies the table:
//
//	if err := pass.Run(m, pass.Options{Release: true}); err != nil { … }
//
// [Vector] is a second table, for code in which a warp is a vector register; [RunVector] and
// [RunRows] apply it behind the first.
//
// Every pass maps a valid module to a valid module with the same meaning. The
// meaning of scalar operations is [ir.Eval]; passes never fold by other rules.
// What passes may rely on after inlining: one function, no calls, and every
// local object created in the entry block.
//
// Convergent operations (barriers, shuffles, votes) are pinned: no pass moves
// one across a branch, merges two, or copies one to a point that other threads
// might not reach.
//
// [Uniformity] says which values and branches are the same for all threads of
// a block or a warp, and [CheckConvergence] uses it to find barriers and warp
// operations under divergent control.
package pass
