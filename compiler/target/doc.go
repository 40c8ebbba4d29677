// Package target says what each compilation target is: which code generator it
// uses, which instructions it may use, and its limits.
//
// A target is written as kind:arch, "ptx:sm_90", or as one word, "cpu". [Parse]
// turns the text into a [Target] and [Target.String] prints it again, so the
// text can serve as part of a cache key. [ForCUDA] picks the target for a device
// from its compute capability: the newest known architecture that the device can
// run, since code for an older architecture runs on every later one.
//
//	t, err := target.Parse("ptx:sm_80")
//	text, err := ptx.Emit(module, t)
//
// The architectures with a letter behind the number (sm_90a, sm_100f) have
// instructions that later devices lack; code for them runs on that device or
// family alone, so [ForCUDA] never picks one.
package target
