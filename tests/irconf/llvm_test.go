package irconf_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/llvm"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/irconf"
	"github.com/gokiln/kiln/tests/through"
)

// byLLVM returns all cases, a hundred at a time, with their LLVM IR as one text.
func byLLVM(t *testing.T, tgt target.Target) (texts []string, parts [][]irconf.Case) {
	for part := range slices.Chunk(irconf.Cases(), 100) {
		var list []string
		for i, c := range part {
			m, err := ir.Parse(c.Text)
			require.NoError(t, err)
			m.Kernel().Name = fmt.Sprintf("k%d", i)
			text, err := llvm.Emit(m, tgt)
			require.NoError(t, err, c.Name)
			list = append(list, text)
		}
		texts, parts = append(texts, llvm.Join(list)), append(parts, part)
	}
	return texts, parts
}

// TestLLVM runs every case on an NVIDIA GPU as the PTX that LLVM makes, which is in a
// file that TestRecordLLVM has written.
func TestLLVM(t *testing.T) {
	file := os.Getenv("KILN_LLVM_IMAGES")
	if file == "" {
		t.Skip("needs an NVIDIA GPU and what TestRecordLLVM has written: KILN_LLVM_IMAGES names it")
	}
	images, err := through.OpenImages(file)
	require.NoError(t, err)
	defer images.Close()
	dev, err := runtime.Open("cuda:0")
	require.NoError(t, err)
	defer dev.Close()
	tgt, err := target.Parse("llvm:" + dev.Info().Arch)
	require.NoError(t, err)
	texts, parts := byLLVM(t, tgt)
	for n, part := range parts {
		code, err := images.PTX(texts[n])
		require.NoError(t, err)
		mod, err := dev.Load(runtime.Image{Format: "ptx", Name: "irconf", Code: code})
		require.NoError(t, err)
		for i, c := range part {
			t.Run(c.Name, func(t *testing.T) {
				fn, err := mod.Function(fmt.Sprintf("k%d", i))
				require.NoError(t, err)
				got, err := irconf.Run(dev, fn, c)
				require.NoError(t, err)
				require.NoError(t, c.Check(got))
			})
		}
	}
}

// TestRecordLLVM has LLVM make PTX of all cases. KILN_LLVM_RECORD names the file that is
// for TestLLVM.
func TestRecordLLVM(t *testing.T) {
	rec := through.For(t, "sm_90")
	texts, _ := byLLVM(t, rec.Target())
	for _, text := range texts {
		rec.Add(text)
	}
	images := rec.WriteFile(t)
	code, err := images.PTX(texts[0])
	require.NoError(t, err)
	require.Contains(t, string(code), ".visible .entry k99(")
	_, err = images.PTX(texts[0] + "\n")
	require.ErrorContains(t, err, "the archive has no PTX of this LLVM IR")
}
