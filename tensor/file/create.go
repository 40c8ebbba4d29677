package file

import (
	"io"

	"github.com/gokiln/kiln/internal/atomicfile"
)

// Create writes a file as a whole: under another name first, so that whoever opens the
// path sees the old file, the new one, or none, and a failed write leaves nothing. What a
// process that was killed left is removed by the next write of the path.
func Create(path string, write func(io.Writer) error) error {
	return atomicfile.Write(path, 0o666, write)
}
