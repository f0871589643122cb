// Tells what sessions use that the agent begins for a part of its work. It runs inside of OpenCode.
const children = new Set()
const models = new Map()
const told = new Set()

export const Conductor = async () => ({
  event: async ({ event }) => {
    const { info, part } = event.properties ?? {}
    if (event.type.startsWith("session.") && info?.parentID) children.add(info.id)
    if (event.type === "message.updated" && info?.modelID) models.set(info.sessionID, info.modelID)
    if (event.type !== "message.part.updated" || part?.type !== "step-finish") return
    if (!children.has(part.sessionID) || told.has(part.id)) return
    told.add(part.id)
    const { sessionID, tokens, cost } = part
    const step = { type: "delegated", sessionID, model: models.get(sessionID), part: { tokens, cost } }
    process.stdout.write(JSON.stringify(step) + "\n")
  },
})
