-- Drives `visakit dap` from Neovim with nvim-dap, and writes what it has seen: test_neovim.py runs it.
-- Globals: plugin (its folder), server (a list of words), folder (of the program), report (a path).
vim.opt.runtimepath:append(plugin)
local dap = require("dap")
local seen = {stops = {}, values = {}, errors = {}}

local function leave()
  local file = assert(io.open(report, "w"))
  file:write(vim.fn.json_encode(seen))
  file:close()
  vim.cmd("qa!")
end

dap.adapters.visakit = {type = "executable", command = server[1], args = {unpack(server, 2)}}
local steps = {dap.step_over, dap.step_over, dap.step_back, dap.continue}

local function look(session, body)
  local frame = session.current_frame
  table.insert(seen.stops, {reason = body.reason, line = frame and frame.line})
  session:request("scopes", {frameId = frame.id}, function(failed, found)
    if failed then table.insert(seen.errors, tostring(failed)) end
    for _, scope in ipairs(found and found.scopes or {}) do
      if scope.name == "Variables" then
        session:request("variables", {variablesReference = scope.variablesReference}, function(_, list)
          table.insert(seen.values, list.variables[1].value)
          local step = table.remove(steps, 1)
          if step then step() else leave() end
        end)
      end
    end
  end)
end

dap.listeners.after.event_stopped.visakit = function(session, body)
  vim.defer_fn(function() look(session, body) end, 50)  -- nvim-dap asks for the frames first.
end
dap.listeners.after.event_terminated.visakit = function()
  seen.ended = true
  vim.schedule(leave)
end

vim.cmd("cd " .. folder)
vim.cmd("edit steps.visaasm")
vim.api.nvim_win_set_cursor(0, {8, 0})
dap.set_breakpoint("N[2] == 2")
dap.run({
  type = "visakit", request = "launch", name = "steps", program = "steps.bin", globalSize = "8", localSize = "8",
  args = {"Y=zeros:8:i4"},
})
vim.defer_fn(function() table.insert(seen.errors, "no answer") leave() end, 60000)
