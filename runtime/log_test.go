package runtime

import (
	goruntime "runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Streams that come and go leave nothing, though nobody waits for the device. Of those with
// launches that may still run the latest are remembered.
func TestLogsOfStreamsThatAreGone(t *testing.T) {
	const streams = 5 * maxRetired
	for name, use := range map[string]func(s *Stream, f *Function) error{
		"idle":     func(*Stream, *Function) error { return nil },
		"synced":   func(s *Stream, f *Function) error { _ = s.Launch(f, Blocks(1, 1), 0, nil); return s.Sync() },
		"unsynced": func(s *Stream, f *Function) error { return s.Launch(f, Blocks(1, 1), 0, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "cpu")
			f := r.function(t, "nothing")
			for range streams {
				s, err := r.NewStream()
				require.NoError(t, err)
				require.NoError(t, use(s, f))
			}
			most := 1 // the default stream's
			if name == "unsynced" {
				most += maxRetired
			}
			require.Eventually(t, func() bool {
				goruntime.GC()
				return len(r.allLogs()) == most
			}, time.Minute, 10*time.Millisecond, "%d logs", len(r.allLogs()))
			require.NoError(t, r.Sync())
			require.Len(t, r.allLogs(), 1)
			require.Zero(t, r.retired)
		})
	}
}
