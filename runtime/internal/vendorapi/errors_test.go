package vendorapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

func TestKinds(t *testing.T) {
	for r, want := range map[Result]error{
		OutOfMemory: driver.ErrOutOfMemory, NoDevice: driver.ErrNoDevice, InvalidImage: driver.ErrBadImage, NoBinaryForGPU: driver.ErrBadImage,
		NotFound: driver.ErrNotFound, NotReady: driver.ErrNotReady, LaunchResources: driver.ErrLaunch, LaunchTooLarge: driver.ErrInvalid,
		IllegalAddress: driver.ErrLaunch, LaunchFailed: driver.ErrLaunch, InvalidValue: nil,
	} {
		require.Equal(t, want, r.kind(), "%d", r)
	}
	require.True(t, Misaligned.sticky())
	require.True(t, LaunchFailed.sticky())
	require.False(t, LaunchResources.sticky(), "too large a launch does no harm")
}
