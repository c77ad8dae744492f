package vm

import _ "database/sql" // reach.go links to it
