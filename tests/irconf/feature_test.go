package irconf_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/cuda"
	"github.com/gokiln/kiln/compiler/hip"
	"github.com/gokiln/kiln/compiler/msl"
	"github.com/gokiln/kiln/compiler/opencl"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/tests/irconf"
)

// TestLacksAreFeatures has every reason for which a language refuses a program be one
// that a feature of package compiler knows: whoever asks before, gets the same answer.
func TestLacksAreFeatures(t *testing.T) {
	cases := irconf.Cases()
	for _, l := range []*cfamily.Language{cuda.Language, hip.Language, msl.Language, opencl.Language} {
		for _, tgt := range target.All() {
			if tgt.Kind != l.Kind || tgt.Kind == target.CUDA && tgt.Arch != "sm_75" || tgt.Kind == target.HIP && tgt.Arch != "gfx942" {
				continue
			}
			t.Run(tgt.String(), func(t *testing.T) {
				known := map[string]bool{}
				for _, f := range compiler.Features() {
					var why *target.Unsupported
					if errors.As(compiler.Supports(tgt, f), &why) {
						known[why.Why] = true
					}
				}
				have, lacks, err := irconf.Written(l, tgt, cases)
				require.NoError(t, err)
				require.NotEmpty(t, have)
				require.Equal(t, len(known) > 0, len(lacks) > 0)
				for name, err := range lacks {
					var why *target.Unsupported
					require.ErrorAs(t, err, &why, name)
					require.True(t, known[why.Why], "%s: %v is the reason of no feature", name, err)
				}
			})
		}
	}
}
