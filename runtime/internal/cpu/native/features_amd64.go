package native

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/cpu"
)

// missing returns, for each level, the instruction sets that the processor or the
// system's saving of registers (XGETBV) lacks.
func missing() map[string]string {
	x := &cpu.X86
	v3 := list(map[string]bool{"AVX2": x.HasAVX2, "FMA": x.HasFMA, "BMI1": x.HasBMI1, "BMI2": x.HasBMI2,
		"F16C": x.HasF16C, "LZCNT": x.HasLZCNT, "POPCNT": x.HasPOPCNT, "MOVBE": x.HasMOVBE})
	v4 := v3
	if more := list(map[string]bool{"AVX512F": x.HasAVX512F, "AVX512BW": x.HasAVX512BW, "AVX512CD": x.HasAVX512CD,
		"AVX512DQ": x.HasAVX512DQ, "AVX512VL": x.HasAVX512VL}); more != "" {
		v4 = strings.TrimPrefix(v3+", "+more, ", ")
	}
	return map[string]string{ArchAVX2: v3, ArchAVX512: v4}
}

// hasVNNI reports whether the processor has dot products of bytes besides a level, which
// has the registers for them.
func hasVNNI(arch string) bool {
	if arch == ArchAVX512 {
		return cpu.X86.HasAVX512VNNI
	}
	return cpu.X86.HasAVXVNNI
}

// list names what is not there.
func list(have map[string]bool) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if !have[name] {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}
