// Package everykernel has all kernels of this repository, for tests that give them to
// the compilers that the emitted code is for.
//
//	all := everykernel.Programs(t)                 // with all representative types and values
//	modules := everykernel.Modules(t, all, tgt, everykernel.Fast)
//	text, err := hip.Language.EmitAll(modules, tgt, cfamily.Options{Disjoint: true})
//
// Kernels are found by their mark, so that a new one is tested without being listed.
package everykernel
