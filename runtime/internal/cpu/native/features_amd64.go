package native

import (
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

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

// HasPacked reports whether the processor has instructions for products of packed factors, besides
// AVX-512.
func HasPacked() bool { return hasPairs() || hasTiles() }

// hasPairs reports whether there are dot products of pairs of bfloat16, and of bytes.
func hasPairs() bool { return cpu.X86.HasAVX512BF16 && cpu.X86.HasAVX512VNNI }

// hasTiles reports whether the processor has tile registers with products of bfloat16 and of bytes,
// and the system lets the program use them. All such processors have dot products, too.
// KILN_CPU_TILES=0 leaves them alone, for comparisons.
var hasTiles = sync.OnceValue(func() bool {
	x := &cpu.X86
	return x.HasAMXTile && x.HasAMXBF16 && x.HasAMXInt8 && hasPairs() && os.Getenv("KILN_CPU_TILES") != "0" && permitTiles()
})

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
