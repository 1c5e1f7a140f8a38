-- finish: write changes and end the turn (finishing.lua, above).
return finish()
