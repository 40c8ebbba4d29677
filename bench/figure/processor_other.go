//go:build !unix

package figure

import "time"

// ProcessorTime is not known here.
func ProcessorTime() time.Duration { return 0 }
