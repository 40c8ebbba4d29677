//go:build kiln_nogpu

package dl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/dl"
)

func TestStub(t *testing.T) {
	_, err := dl.Open("libc.so.6")
	require.ErrorIs(t, err, dl.ErrNoDL)
	require.NotZero(t, dl.Call(0, nil))
}
