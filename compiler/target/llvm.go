package target

// LLVM is the kind of target that is reached through LLVM IR: architectures of
// AMD and of NVIDIA.
const LLVM = "llvm"

// newestLLVM is the newest compute capability that LLVM 19 makes code for.
const newestLLVM = 90

// llvmTargets are the architectures that LLVM 19 knows.
func llvmTargets() []Target {
	var out []Target
	for _, t := range hipTargets() {
		if t.Arch != "gfx950" {
			out = append(out, t)
		}
	}
	for _, t := range cudaTargets(LLVM)() {
		if t.CC <= newestLLVM {
			out = append(out, t)
		}
	}
	for i := range out {
		out[i].Kind = LLVM
	}
	return out
}
