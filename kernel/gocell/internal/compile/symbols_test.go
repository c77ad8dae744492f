package compile

import _ "dace.local/kernel/gocell/symbols/std" // what cells can import
