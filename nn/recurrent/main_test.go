package recurrent_test

import (
	"os"
	"testing"

	"github.com/gokiln/kiln/internal/tooltest"
)

func TestMain(m *testing.M) { os.Exit(tooltest.Run(m)) }
