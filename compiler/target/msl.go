package target

import "fmt"

// mslTargets are the versions of Metal's language as architectures: what a device
// can do is settled when it compiles the text. The limits are those that every
// device with the language has (Metal Feature Set Tables).
func mslTargets() []Target {
	var out []Target
	for _, v := range []int{24, 30, 31, 32} {
		out = append(out, Target{
			Kind: MSL, Arch: fmt.Sprintf("%d.%d", v/10, v%10), Version: v,
			WarpSize: 32, MaxThreads: 1024, MaxShared: 32 << 10, FixShared: 32 << 10, MaxArgs: 4 << 10, MaxLocal: maxLocal,
		})
	}
	return out
}
